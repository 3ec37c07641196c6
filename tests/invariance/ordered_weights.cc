#include "invariance/ordered_weights.h"

#include <functional>

#include "base/rng.h"
#include "invariance/stored_source.h"

namespace foretoken {
namespace {

constexpr std::int64_t kGroupRows = 32;
constexpr float kScale = 0x1p-5F;

class OrderedSource final : public StoredSource {
 public:
  using StoredSource::StoredSource;

  std::optional<Tensor> find(const std::string& name, const Shape& shape) const override {
    const std::uint64_t seed = std::hash<std::string>{}(name);
    if (name.ends_with(".qweight") && !name.ends_with("_proj.qweight")) return std::nullopt;
    if (name.ends_with(".qweight"))
      return made<std::uint32_t>(name, DType::kI32, shape, [&](std::int64_t i) {
        return static_cast<std::uint32_t>(mix_seed(seed, static_cast<std::uint64_t>(i)));
      });
    if (name.ends_with(".qzeros"))
      return made<std::uint32_t>(name, DType::kI32, shape, [](auto) { return 0x77777777U; });
    if (name.ends_with(".scales"))
      return made<float>(name, DType::kF32, shape, [](std::int64_t i) {
        return kScale * (1.0F + 0.1F * static_cast<float>(i % 3));
      });
    // 7 shares no factor with any width here.
    if (name.ends_with(".g_idx"))
      return made<std::int32_t>(name, DType::kI32, shape, [&](std::int64_t i) {
        return static_cast<std::int32_t>(i * 7 % shape[0] / kGroupRows);
      });
    return floats().find(name, shape);
  }
};

}  // namespace

std::unique_ptr<WeightSource> ordered_weights(const TinyModel& model) {
  return std::make_unique<OrderedSource>(model);
}

StoredQuantization groups_in_no_order() {
  return {.method = "gptq",
          .usual = StoredFormat{.kind = StoredFormat::Kind::kGptq,
                                .group = kGroupRows,
                                .has_g_idx = true,
                                .zeros_are_less_one = true}};
}

StoredQuantization groups_of_both_widths() {
  StoredQuantization stored = groups_in_no_order();
  StoredFormat bytes = *stored.usual;
  bytes.bits = 8;
  stored.rules = {{.names = "re:.*\\.(down|q)_proj", .format = bytes}};
  return stored;
}

}  // namespace foretoken
