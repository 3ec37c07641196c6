// Latent attention where checkpoints keep its matrices in another way, and what it keeps itself.

#include "model/decoder/latent_attention.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/float_view.h"
#include "backend/host/host_step.h"
#include "base/index.h"
#include "model/decoder/forward_memory.h"
#include "model/decoder/load.h"
#include "model/testing/whole_logits.h"
#include "tensor/float8.h"

namespace foretoken {
namespace {

const std::string kFolder = FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/deepseek_v2";
constexpr std::int64_t kBlock = 32;

// The checkpoint, whose kv_b_proj are E4M3 codes with a scale for each block; or floats of the same
// values.
class CodedSource final : public WeightSource {
 public:
  explicit CodedSource(bool gives_codes)
      : source_(open_checkpoint(kFolder, "auto", false)), gives_codes_(gives_codes) {}

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    if (name.ends_with(kScales)) return gives_codes_ ? std::optional(scales()) : std::nullopt;
    const auto stored = source_->find(name, expected);
    if (!stored || !name.ends_with("kv_b_proj.weight")) return stored;
    const auto kind = gives_codes_ ? DType::kF8E4M3 : DType::kF32;
    Buffer& made = made_.emplace_back(at(stored->elements()) * dtype_bytes(kind));
    for (std::int64_t i = 0; i < stored->elements(); ++i) {
      const float scale = scale_of(i / stored->dim(1) / kBlock);
      const std::uint8_t code = f32_to_e4m3(load_float(stored->data(), stored->dtype(), i) / scale);
      if (gives_codes_)
        static_cast<std::uint8_t*>(made.data())[i] = code;
      else
        static_cast<float*>(made.data())[i] = e4m3_to_f32(code) * scale;
    }
    return made.view(kind, stored->shape());
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names = source_->names();
    const std::size_t count = gives_codes_ ? names.size() : 0;
    for (std::size_t i = 0; i < count; ++i)
      if (const std::string name = names[i]; name.ends_with("kv_b_proj.weight"))
        names.push_back(name + "_scale_inv");
    return names;
  }
  std::string where() const override { return source_->where(); }

 private:
  static constexpr const char* kScales = "kv_b_proj.weight_scale_inv";
  static float scale_of(std::int64_t block) {
    return 0x1p-9F * (1.0F + 0.25F * static_cast<float>(block));
  }
  // kv_b_proj has four heads of 16 + 24 rows, and 32 columns.
  Tensor scales() const {
    constexpr std::int64_t kBlocks = 4 * (16 + 24) / kBlock;
    Buffer& made = made_.emplace_back(at(kBlocks) * sizeof(float));
    for (std::int64_t i = 0; i < kBlocks; ++i) static_cast<float*>(made.data())[i] = scale_of(i);
    return made.view(DType::kF32, {kBlocks, 1});
  }

  std::unique_ptr<WeightSource> source_;
  bool gives_codes_;
  mutable std::vector<Buffer> made_;
};

std::vector<float> logits_of(Ops& ops, const Decoder& decoder) {
  return text_logits(ops, decoder, std::vector<Token>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7});
}

TEST(LatentAttention, matrices_that_are_codes_answer_as_the_floats_that_they_stand_for) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "cpu"}, pool);
  const ModelConfig floats = read_model_config(kFolder, {});
  ModelConfig coded = floats;
  coded.stored_quantization = {.method = "fp8",
                               .usual = StoredFormat{.kind = StoredFormat::Kind::kFp8,
                                                     .bits = 8,
                                                     .block_rows = kBlock,
                                                     .block_columns = kBlock}};
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Decoder known(*ops, floats, CodedSource(false), dtype);
    const Decoder made(*ops, coded, CodedSource(true), dtype);
    const Decoder unrounded(*ops, floats, *open_checkpoint(kFolder, "auto", false), dtype);
    EXPECT_EQ(logits_of(*ops, made), logits_of(*ops, known));
    EXPECT_NE(logits_of(*ops, made), logits_of(*ops, unrounded));
  }
}

// What is kept of a token: one key in each layer, and no value.
TEST(LatentAttention, a_token_takes_the_bytes_of_its_latents) {
  ModelConfig config;
  config.layers = 27;
  config.heads = 16;
  config.kv_heads = 1;
  config.head_dim = 512 + 64;
  config.latent = {.kv_rank = 512, .key_dim = 128, .rope_dim = 64, .value_dim = 128};
  EXPECT_EQ(host_kv_page_bytes(kv_shape_of(config, DType::kBF16)) / kPageTokens, at(27 * 576 * 2));
  config.kv_dtype = DType::kI8;
  EXPECT_EQ(host_kv_page_bytes(kv_shape_of(config, DType::kBF16)) / kPageTokens,
            at(27 * (576 + 4)));
}

}  // namespace
}  // namespace foretoken
