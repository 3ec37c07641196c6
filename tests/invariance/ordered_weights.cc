#include "invariance/ordered_weights.h"

#include <functional>
#include <map>

#include "base/index.h"
#include "base/rng.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

constexpr std::int64_t kGroup = 32;
constexpr float kScale = 0x1p-5F;

class OrderedSource final : public WeightSource {
 public:
  explicit OrderedSource(const TinyModel& model) : floats_(tiny_weights(model)) {}

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
        return static_cast<std::int32_t>(i * 7 % shape[0] / kGroup);
      });
    return floats_->find(name, shape);
  }
  std::vector<std::string> names() const override { return {"model.norm.weight"}; }
  std::string where() const override { return floats_->where() + " in groups in no order"; }

 private:
  template <typename T, typename Value>
  Tensor made(const std::string& name, DType dtype, const Shape& shape, const Value& value) const {
    Buffer& buffer = made_[name + shape.str()];
    if (buffer.bytes() == 0) buffer = Buffer(at(shape.elements()) * sizeof(T));
    auto* values = static_cast<T*>(buffer.data());
    for (std::int64_t i = 0; i < shape.elements(); ++i) values[i] = value(i);
    return buffer.view(dtype, shape);
  }

  std::unique_ptr<WeightSource> floats_;
  mutable std::map<std::string, Buffer> made_;  // views of them are out there
};

}  // namespace

std::unique_ptr<WeightSource> ordered_weights(const TinyModel& model) {
  return std::make_unique<OrderedSource>(model);
}

StoredQuantization groups_in_no_order() {
  StoredQuantization stored;
  stored.kind = StoredQuantization::Kind::kGptq;
  stored.method = "gptq";
  stored.group = kGroup;
  stored.has_g_idx = true;
  stored.zeros_are_less_one = true;
  return stored;
}

}  // namespace foretoken
