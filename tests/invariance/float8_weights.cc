#include "invariance/float8_weights.h"

#include <cmath>
#include <map>

#include "base/index.h"
#include "tensor/buffer.h"
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

class Float8Source final : public WeightSource {
 public:
  explicit Float8Source(const TinyModel& model) : floats_(tiny_weights(model)) {}

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    if (name.ends_with(".weight_scale_inv")) return scales(name, expected);
    if (name.ends_with(".input_scale")) return std::nullopt;
    const Tensor made = *floats_->find(name, expected);
    return name.ends_with("_proj.weight") ? codes(name, made) : made;
  }
  std::vector<std::string> names() const override { return {"model.norm.weight"}; }
  std::string where() const override { return floats_->where() + " of 8-bit floats"; }

 private:
  Tensor codes(const std::string& name, const Tensor& floats) const {
    Buffer& made = made_[name];
    if (made.bytes() == 0) made = Buffer(at(floats.elements()));
    auto* bytes = static_cast<std::uint8_t*>(made.data());
    for (std::int64_t i = 0; i < floats.elements(); ++i)
      bytes[i] = e4m3_towards_zero(bf16_to_f32(floats.bits16()[i]) / kMiddleScale);
    return made.view(DType::kF8E4M3, floats.shape());
  }
  Tensor scales(const std::string& name, const Shape& shape) const {
    Buffer& made = made_[name + shape.str()];  // asked for as one number first
    if (made.bytes() == 0) made = Buffer(at(shape.elements()) * sizeof(float));
    auto* values = static_cast<float*>(made.data());
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      values[i] = kMiddleScale * (1.0F + 0.1F * static_cast<float>(i % 3));
    return made.view(DType::kF32, shape);
  }

  std::unique_ptr<WeightSource> floats_;
  mutable std::map<std::string, Buffer> made_;  // views of them are out there
};

}  // namespace

std::unique_ptr<WeightSource> float8_weights(const TinyModel& model) {
  return std::make_unique<Float8Source>(model);
}

StoredQuantization float8_blocks() {
  StoredQuantization stored;
  stored.kind = StoredQuantization::Kind::kFp8;
  stored.method = "fp8";
  stored.bits = 8;
  stored.block_rows = stored.block_columns = kBlock;
  return stored;
}

}  // namespace foretoken
