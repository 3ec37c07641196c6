#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/rng.h"
#include "checkpoint/checkpoint.h"
#include "tensor/buffer.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

std::uint64_t hash_of(const std::string& name) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// Uniform in (-bound, bound), four values per hash; a value depends on its index only.
void fill_uniform(std::uint16_t* out, std::int64_t count, std::uint64_t key, float bound) {
  const float step = bound / 32768.0F;
  auto value = [&](std::uint64_t word, int lane) {
    const auto bits = static_cast<std::int32_t>((word >> (16 * lane)) & 0xffffU);
    return f32_to_bf16((static_cast<float>(bits - 32768) + 0.5F) * step);
  };
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const std::uint64_t word = mix_seed(key, static_cast<std::uint64_t>(i / 4));
    for (int lane = 0; lane < 4; ++lane) out[i + lane] = value(word, lane);
  }
  const std::uint64_t word = mix_seed(key, static_cast<std::uint64_t>(i / 4));
  for (int lane = 0; i < count; ++i, ++lane) out[i] = value(word, lane);
}

class DummySource final : public WeightSource {
 public:
  explicit DummySource(std::uint64_t seed) : seed_(seed) {}

  // bf16. Matrices [out, in] have variance 1 / in, so that activations keep their size through any
  // number of layers; weights of norms and other
  // scales are 1, biases small. A tensor that is held is given again.
  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    const auto held = made_.find(name);
    if (held != made_.end() && held->second.shape == expected)
      return held->second.memory.view(DType::kBF16, expected);
    const std::int64_t count = expected.elements();
    Made& made = made_[name];
    made = {.memory = take_memory(static_cast<std::size_t>(count) * sizeof(std::uint16_t)),
            .shape = expected};
    const Tensor tensor = made.memory.view(DType::kBF16, expected);
    if (name.ends_with("norm.weight") || name.ends_with("scale") || name.ends_with("scalar")) {
      std::fill_n(tensor.bits16(), count, f32_to_bf16(1.0F));
    } else {
      const float deviation =
          expected.rank() < 2 ? 0.02F
                              : 1.0F / std::sqrt(static_cast<float>(expected[expected.rank() - 1]));
      fill_uniform(tensor.bits16(), count, mix_seed(seed_, hash_of(name)),
                   std::sqrt(3.0F) * deviation);
    }
    return tensor;
  }

  std::vector<std::string> names() const override { return {}; }
  std::string where() const override { return "dummy weights"; }
  void release(const std::string& name) const override {
    const auto made = made_.find(name);
    if (made == made_.end()) return;
    Buffer& memory = made->second.memory;
    if (memory.bytes() > spare_.bytes()) spare_ = std::move(memory);
    made_.erase(made);
  }

 private:
  struct Made {
    Buffer memory;
    Shape shape;
  };

  // Released memory is used again: fresh pages cost more than the values in them.
  Buffer take_memory(std::size_t bytes) const {
    return spare_.bytes() >= bytes ? std::exchange(spare_, {}) : Buffer(bytes);
  }

  std::uint64_t seed_;
  mutable std::map<std::string, Made> made_;
  mutable Buffer spare_;
};

}  // namespace

std::unique_ptr<WeightSource> dummy_weights(std::uint64_t seed) {
  return std::make_unique<DummySource>(seed);
}

}  // namespace foretoken
