// GGUF files of the models in tests/golden/checkpoints, written here as llama.cpp's converter
// writes them: each answers as its safetensors do.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/float_view.h"
#include "base/index.h"
#include "base/json_text.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/load.h"
#include "model/decoder/rope.h"
#include "model/runner.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kF32 = 0, kQ8_0 = 8;

struct Family {
  const char* folder;        // below tests/golden/checkpoints
  const char* architecture;  // general.architecture
  bool pairs = false;        // the converter reorders rows of q and k
  float norm_offset = 0.0F;  // which it adds
  const char* unsaid = "";   // config.json's of what a GGUF file does not say
  float rounding = 0.0F;     // of what a GGUF file keeps as float32
};
void PrintTo(const Family& family, std::ostream* out) { *out << family.folder; }

const std::map<std::string, std::string> kNames{
    {"embed_tokens", "token_embd"},
    {"norm", "output_norm"},
    {"lm_head", "output"},
    {"input_layernorm", "attn_norm"},
    {"q_proj", "attn_q"},
    {"k_proj", "attn_k"},
    {"v_proj", "attn_v"},
    {"o_proj", "attn_output"},
    {"qkv_proj", "attn_qkv"},
    {"q_norm", "attn_q_norm"},
    {"k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"gate_proj", "ffn_gate"},
    {"up_proj", "ffn_up"},
    {"gate_up_proj", "ffn_up"},
    {"down_proj", "ffn_down"},
};

// One family's checkpoint as a GGUF file.
class Converter {
 public:
  explicit Converter(const Family& family)
      : family_(family),
        folder_(std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + family.folder),
        config_(read_json_file(folder_ + "/config.json").value()),
        source_(open_checkpoint(folder_, "auto", false)) {}

  const std::string& folder() const { return folder_; }

  std::string bytes(std::uint32_t matrix_type) {
    file_.text("general.architecture", family_.architecture);
    size("num_hidden_layers", "block_count");
    size("max_position_embeddings", "context_length");
    size("hidden_size", "embedding_length");
    size("intermediate_size", "feed_forward_length");
    size("num_attention_heads", "attention.head_count");
    size("num_key_value_heads", "attention.head_count_kv");
    size("head_dim", "attention.key_length");
    size("head_dim", "attention.value_length");
    size("sliding_window", "attention.sliding_window");
    number("rms_norm_eps", "attention.layer_norm_rms_epsilon");
    number("attn_logit_softcapping", "attn_logit_softcapping");
    number("final_logit_softcapping", "final_logit_softcapping");
    number("attention_multiplier", "attention.scale");
    number("embedding_multiplier", "embedding_scale");
    number("residual_multiplier", "residual_scale");
    number("logits_scaling", "logit_scale");
    const auto& rope = config_.at("rope_parameters").as_object();
    file_.f32(key("rope.freq_base"), static_cast<float>(rope.at("rope_theta").to_number<double>()));
    for (const std::string& name : source_->names()) add(name, matrix_type);
    return file_.bytes();
  }

 private:
  std::string key(const std::string& name) const {
    return std::string(family_.architecture) + "." + name;
  }
  void size(const char* name, const char* stored) {
    if (const auto* value = config_.if_contains(name); value != nullptr && value->is_int64())
      file_.u32(key(stored), static_cast<std::uint32_t>(value->as_int64()));
  }
  void number(const char* name, const char* stored) {
    if (const auto* value = config_.if_contains(name); value != nullptr && value->is_number())
      file_.f32(key(stored), static_cast<float>(value->to_number<double>()));
  }

  std::string stored_name(const std::string& name) const {
    const auto parts = [&] {
      std::vector<std::string> all;
      for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find('.', at), name.size());
        all.push_back(name.substr(at, end - at));
        at = end + 1;
      }
      return all;
    }();
    std::string stored = kNames.at(parts[parts.size() - 2]);
    if (std::string(family_.folder) == "gemma2" &&
        name.find("post_attention_layernorm") != std::string::npos)
      stored = "post_attention_norm";
    if (parts.size() > 3) stored = "blk." + parts[2] + "." + stored;
    return stored + "." + parts.back();
  }

  // Rows of a head in two halves become neighbours.
  std::int64_t source_row(const std::string& name, std::int64_t row, std::int64_t rows) const {
    const bool is_key = name.find("k_proj") != std::string::npos;
    if (!family_.pairs || !(is_key || name.find("q_proj") != std::string::npos)) return row;
    const std::int64_t heads =
        config_.at(is_key ? "num_key_value_heads" : "num_attention_heads").as_int64();
    const std::int64_t of_head = rows / heads, j = row % of_head;
    return row / of_head * of_head + j % 2 * (of_head / 2) + j / 2;
  }

  void add(const std::string& name, std::uint32_t matrix_type) {
    const Tensor tensor = source_->find(name, {}).value();
    const std::int64_t rows = tensor.dim(0), width = tensor.elements() / rows;
    std::vector<float> values(at(tensor.elements()));
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      values[at(i)] = load_float(tensor.data(), tensor.dtype(),
                                 source_row(name, i / width, rows) * width + i % width);
    if (name.ends_with("norm.weight"))
      for (float& value : values) value += family_.norm_offset;
    const bool is_matrix = tensor.shape().rank() == 2 && width % 32 == 0;
    const std::vector<std::int64_t> shape =
        tensor.shape().rank() == 2 ? std::vector{rows, width} : std::vector{rows};
    if (matrix_type == kQ8_0 && is_matrix)
      file_.tensor(stored_name(name), kQ8_0, shape, codes_of(values));
    else
      file_.floats(stored_name(name), shape, values);
  }

  static std::string codes_of(const std::vector<float>& values) {
    std::string blocks;
    for (std::size_t at = 0; at < values.size(); at += 32) {
      float most = 0.0F;
      for (std::size_t i = at; i < at + 32; ++i) most = std::max(most, std::abs(values[i]));
      const std::uint16_t scale = f32_to_f16(most / 127.0F);
      blocks += GgufBytes::number(scale);
      for (std::size_t i = at; i < at + 32; ++i)
        blocks += static_cast<char>(std::lround(values[i] / f16_to_f32(scale)));
    }
    return blocks;
  }

  Family family_;
  std::string folder_;
  boost::json::object config_;
  std::unique_ptr<WeightSource> source_;
  GgufBytes file_;
};

class LoadGguf : public testing::TestWithParam<Family> {
 protected:
  std::vector<float> logits_of(const std::string& path, const std::string& overrides = {}) {
    const auto decoder = load_model(
        *ops_, path, {.dtype = "float32", .config_overrides = overrides, .show_progress = false});
    Runner runner(*ops_, *decoder, 1);
    SeqTable table(1);
    table.pages[0] = {0};
    DraftTrees trees(1, 1);
    const std::vector<Token> tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
    trees.plant(0, tokens.back());
    const SamplingParams params;
    StepPlan plan;
    plan.entries.push_back({.slot = 0,
                            .chain = std::span(tokens).first(tokens.size() - 1),
                            .has_tree = true,
                            .score_from = 0,
                            .after_chain = tokens.back(),
                            .params = &params});
    Batch batch;
    ops_->layout(plan, trees, table, batch);
    const Tensor logits = runner.logits(runner.forward(batch, FeatureTaps{}), batch);
    return {logits.f32(), logits.f32() + logits.elements()};
  }

  TempFolder folder_;
  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, pool_);
};

TEST_P(LoadGguf, answers_as_the_checkpoint_that_it_was_made_of) {
  const Family& family = GetParam();
  Converter converter(family);
  folder_.write("model.gguf", converter.bytes(kF32));
  const auto known = logits_of(converter.folder());
  const auto found = logits_of(folder_.path() + "/model.gguf", family.unsaid);
  ASSERT_EQ(found.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i)
    ASSERT_NEAR(found[i], known[i], family.rounding) << i;
}

TEST_P(LoadGguf, answers_nearly_so_from_blocks_of_8_bits) {
  const Family& family = GetParam();
  Converter converter(family);
  folder_.write("model.gguf", converter.bytes(kQ8_0));
  const auto known = logits_of(converter.folder());
  const auto found = logits_of(folder_.path() + "/model.gguf", family.unsaid);
  double squares = 0.0, of_error = 0.0;
  for (std::size_t i = 0; i < known.size(); ++i) {
    squares += double{known[i]} * known[i];
    of_error += (double{found[i]} - known[i]) * (double{found[i]} - known[i]);
  }
  EXPECT_GT(of_error, 0.0);
  EXPECT_LT(std::sqrt(of_error / squares), 0.03);
}

INSTANTIATE_TEST_SUITE_P(
    Families, LoadGguf,
    testing::Values(Family{"llama", "llama", true}, Family{"llama_bias_tied", "llama", true},
                    Family{"mistral", "llama", true}, Family{"qwen2", "qwen2"},
                    Family{"qwen3", "qwen3"},
                    Family{"smollm3", "smollm3", true, 0.0F, R"({"no_rope_layer_interval":2})"},
                    Family{"granite", "granite", true, 0.0F, "", 1e-5F}, Family{"phi3", "phi3"},
                    Family{"gemma2", "gemma2", false, 1.0F, R"({"query_pre_attn_scalar":24})",
                           1e-4F}),
    [](const auto& info) { return info.param.folder; });

// The converter writes Llama 3's scaling as a factor for each pair.
TEST(LoadGgufFiles, factors_stand_for_the_scaling_that_they_were_made_of) {
  constexpr double kTheta = 5000.0, kFactor = 8.0, kOriginal = 32.0;
  std::vector<float> factors;
  for (int pair = 0; pair < 8; ++pair) {
    const double wavelength = 2.0 * std::numbers::pi * std::pow(kTheta, pair / 8.0);
    const double smooth = std::clamp((kOriginal / wavelength - 1.0) / (4.0 - 1.0), 0.0, 1.0);
    factors.push_back(static_cast<float>(1.0 / ((1.0 - smooth) / kFactor + smooth)));
  }
  const TempFolder folder;
  GgufBytes file = gguf_keys("llama");
  file.floats("rope_freqs.weight", {8}, factors);
  file.floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  folder.write("model.gguf", file.bytes());
  const ModelConfig made = read_model_config(folder.path() + "/model.gguf", {});
  ModelConfig known = made;
  known.rope = {};
  known.rope.kind = RopeScaling::Kind::kLlama3;
  known.rope.factor = kFactor;
  known.rope.original_max_position = static_cast<std::int64_t>(kOriginal);
  const auto found = rope_frequencies(made), expected = rope_frequencies(known);
  EXPECT_EQ(found.attention_factor, expected.attention_factor);
  ASSERT_EQ(found.inverse.size(), expected.inverse.size());
  for (std::size_t i = 0; i < found.inverse.size(); ++i)
    EXPECT_NEAR(found.inverse[i] / expected.inverse[i], 1.0, 1e-6) << i;
  EXPECT_EQ(made.context_length, 256);
}

TEST(LoadGgufFiles, what_cannot_be_served_is_named) {
  const TempFolder folder;
  const std::string path = folder.path() + "/model.gguf";
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  const auto fault_of = [&](const GgufBytes& file) {
    folder.write("model.gguf", file.bytes());
    return error_of([&] { load_model(*ops, path, {.show_progress = false}); });
  };
  EXPECT_THAT(fault_of(gguf_keys("gemma3")),
              AllOf(HasSubstr("this model architecture is not supported"), HasSubstr("gemma3")));
  EXPECT_THAT(fault_of(gguf_keys("llama").u32("llama.expert_count", 8)),
              HasSubstr("mixture of experts"));
  EXPECT_THAT(fault_of(GgufBytes().text("general.architecture", "llama")),
              HasSubstr("lacks a key (" + path + "): expected llama.embedding_length"));
  EXPECT_THAT(
      fault_of(gguf_keys("llama").tensor("token_embd.weight", 16, {8, 256}, std::string(528, 'x'))),
      HasSubstr("found IQ2_XXS"));
  GgufBytes uneven =
      gguf_keys("llama").floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  uneven.floats("blk.0.attn_q.weight", {6, 1}, std::vector<float>(6));
  GgufBytes many =
      gguf_keys("granite").floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  many.floats("blk.0.attn_q.weight", {2, 1}, std::vector<float>(2));
  EXPECT_THAT(fault_of(many), HasSubstr("for each of 4 heads"));
  EXPECT_THAT(fault_of(uneven), HasSubstr("tensor blk.0.attn_q.weight): expected an even number"));
}

}  // namespace
}  // namespace foretoken
