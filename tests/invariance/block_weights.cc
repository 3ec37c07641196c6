#include "invariance/block_weights.h"

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string_view>
#include <utility>

#include "invariance/stored_source.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

// The types of blocks of 32 and of 256 that matrices of a name have.
struct Types {
  std::string_view matrix;
  GgufType small, large;
};
constexpr std::array<Types, 7> kTypes{{{"q_proj", GgufType::kQ5_0, GgufType::kQ4_K},
                                       {"k_proj", GgufType::kQ5_0, GgufType::kQ4_K},
                                       {"v_proj", GgufType::kQ8_0, GgufType::kQ6_K},
                                       {"o_proj", GgufType::kQ4_1, GgufType::kQ5_K},
                                       {"gate_proj", GgufType::kQ5_1, GgufType::kQ3_K},
                                       {"up_proj", GgufType::kQ5_1, GgufType::kQ3_K},
                                       {"down_proj", GgufType::kIQ4_NL, GgufType::kIQ4_XS}}};

const GgufTypeInfo* type_of(std::string_view tensor, std::int64_t width) {
  for (const Types& types : kTypes)
    if (tensor.find(types.matrix) != std::string_view::npos)
      return gguf_type(static_cast<std::uint32_t>(width % 256 == 0 ? types.large : types.small));
  return nullptr;
}

void put_half(std::byte* to, float value) {
  const std::uint16_t bits = f32_to_f16(value);
  std::memcpy(to, &bits, sizeof bits);
}

// Codes at random, and scales that give elements of about this size.
void fill(const GgufTypeInfo& type, std::byte* block, std::mt19937& random, float size) {
  for (int i = 0; i < type.block_bytes; ++i) block[i] = static_cast<std::byte>(random());
  const auto scales = [&](int d, float scale) { put_half(block + d, size * scale); };
  switch (type.type) {
    case GgufType::kQ5_0:
      return scales(0, 1 / 9.2F);
    case GgufType::kQ8_0:
      return scales(0, 1 / 74.0F);
    case GgufType::kQ4_1:
      scales(0, 1 / 4.6F);
      return scales(2, -7.5F / 4.6F);
    case GgufType::kQ5_1:
      scales(0, 1 / 9.2F);
      return scales(2, -15.5F / 9.2F);
    case GgufType::kIQ4_NL:
      return scales(0, 1 / 72.0F);
    case GgufType::kQ4_K:
    case GgufType::kQ5_K:  // multiples of about 32; minima of half the range
      scales(0, (type.type == GgufType::kQ4_K ? 1 / 4.6F : 1 / 9.2F) / 36);
      return scales(2, (type.type == GgufType::kQ4_K ? 7.5F / 4.6F : 15.5F / 9.2F) / 36);
    case GgufType::kQ3_K:
      return scales(108, 1 / 2.3F / 18);
    case GgufType::kQ6_K:
      return scales(208, 1 / 18.5F / 74);
    default:
      return scales(0, 1 / 72.0F / 18);  // IQ4_XS
  }
}

class BlockSource final : public StoredSource {
 public:
  using StoredSource::StoredSource;

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    return floats().find(name, expected);
  }

  std::optional<GgufRows> rows(const std::string& name) const override {
    const auto shape = shapes_.find(name);
    if (shape == shapes_.end()) return std::nullopt;
    const GgufTypeInfo* type = type_of(name, shape->second[1]);
    if (type == nullptr) return std::nullopt;
    auto [matrix, is_new] = made_.try_emplace(name);
    GgufBlocks& blocks = matrix->second.blocks;
    if (is_new) {
      blocks.type = type;
      blocks.shape = shape->second;
      matrix->second.bytes.resize(blocks.bytes());
      std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(name)));
      const float size = 1.0F / std::sqrt(static_cast<float>(blocks.width()));
      for (std::size_t i = 0; i < blocks.bytes(); i += at(type->block_bytes))
        fill(*type, &matrix->second.bytes[i], random, size);
      blocks.data = matrix->second.bytes.data();
    }
    return GgufRows(blocks);
  }

  void know(std::string name, const Shape& shape) { shapes_.emplace(std::move(name), shape); }

 private:
  struct Matrix {
    std::vector<std::byte> bytes;
    GgufBlocks blocks;
  };
  std::map<std::string, Shape> shapes_;
  mutable std::map<std::string, Matrix> made_;
};

}  // namespace

std::unique_ptr<WeightSource> block_weights(const TinyModel& model) {
  auto source = std::make_unique<BlockSource>(model);
  const ModelConfig& config = model.config;
  const std::int64_t q = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t kv = std::int64_t{config.kv_heads} * config.head_dim;
  for (int i = 0; i < config.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const auto know = [&](const char* name, std::int64_t rows, std::int64_t width) {
      source->know(layer + name + ".weight", {rows, width});
    };
    know("self_attn.q_proj", q, config.hidden);
    know("self_attn.k_proj", kv, config.hidden);
    know("self_attn.v_proj", kv, config.hidden);
    know("self_attn.o_proj", config.hidden, q);
    know("mlp.gate_proj", config.intermediate, config.hidden);
    know("mlp.up_proj", config.intermediate, config.hidden);
    know("mlp.down_proj", config.hidden, config.intermediate);
  }
  return source;
}

}  // namespace foretoken
