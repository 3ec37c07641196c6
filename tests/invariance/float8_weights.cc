#include "invariance/float8_weights.h"

#include <cmath>

#include "invariance/stored_source.h"
#include "tensor/float16.h"
#include "tensor/float8.h"

namespace foretoken {
namespace {

constexpr std::int64_t kBlock = 32;
constexpr float kMiddleScale = 0x1p-6F;

// The code of the greatest magnitude that is not above that of `value`.
std::uint8_t e4m3_towards_zero(float value) {
  std::uint8_t code = 0x7e;
  while (e4m3_to_f32(code) > std::abs(value)) --code;
  return value < 0 ? code | 0x80U : code;
}

class Float8Source final : public StoredSource {
 public:
  using StoredSource::StoredSource;

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    if (name.ends_with(".weight_scale_inv"))
      return made<float>(name, DType::kF32, expected, [](std::int64_t i) {
        return kMiddleScale * (1.0F + 0.1F * static_cast<float>(i % 3));
      });
    if (name.ends_with(".input_scale")) return std::nullopt;
    const Tensor stored = *floats().find(name, expected);
    if (!name.ends_with("_proj.weight")) return stored;
    return made<std::uint8_t>(name, DType::kF8E4M3, stored.shape(), [&](std::int64_t i) {
      return e4m3_towards_zero(bf16_to_f32(stored.bits16()[i]) / kMiddleScale);
    });
  }
};

}  // namespace

std::unique_ptr<WeightSource> float8_weights(const TinyModel& model) {
  return std::make_unique<Float8Source>(model);
}

StoredQuantization float8_blocks() {
  return {.method = "fp8",
          .usual = StoredFormat{.kind = StoredFormat::Kind::kFp8,
                                .bits = 8,
                                .block_rows = kBlock,
                                .block_columns = kBlock}};
}

}  // namespace foretoken
