// GGUF files of the models in tests/golden/checkpoints, written here as llama.cpp's converter
// writes them: each answers as its safetensors do.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <optional>
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
#include "model/decoder/stacked_experts.h"
#include "model/testing/whole_logits.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kQ8_0 = 8;

struct Family {
  const char* folder;         // below tests/golden/checkpoints
  const char* architecture;   // general.architecture
  bool pairs = false;         // the converter reorders rows of q and k
  float norm_offset = 0.0F;   // which it adds
  const char* unsaid = "";    // config.json's of what a GGUF file does not say
  float rounding = 0.0F;      // of what a GGUF file keeps as float32
  std::uint32_t rotated = 0;  // elements of a head; 0: the file does not say
  double block_error = 0.03;  // of logits from blocks; more where another expert is chosen
  bool splits_heads = false;  // of latent attention, keys and values are two tensors
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
    {"post_self_attn_layernorm", "post_attention_norm"},
    {"post_mlp_layernorm", "post_ffw_norm"},
    {"gate_proj", "ffn_gate"},
    {"up_proj", "ffn_up"},
    {"gate_up_proj", "ffn_up"},
    {"down_proj", "ffn_down"},
    {"gate", "ffn_gate_inp"},
    {"router", "ffn_gate_inp"},
    {"shared_expert_gate", "ffn_gate_inp_shexp"},
    {"q_a_proj", "attn_q_a"},
    {"q_a_layernorm", "attn_q_a_norm"},
    {"q_b_proj", "attn_q_b"},
    {"kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"kv_a_layernorm", "attn_kv_a_norm"},
    {"kv_b_proj", "attn_kv_b"},
};

// Matrices of experts, of which those of a layer are one tensor.
const std::map<std::string, std::string> kExpertNames = {
    {"gate_proj", "ffn_gate_exps"}, {"up_proj", "ffn_up_exps"}, {"down_proj", "ffn_down_exps"},
    {"w1", "ffn_gate_exps"},        {"w3", "ffn_up_exps"},      {"w2", "ffn_down_exps"},
};

// By the beginning of the folder's name.
const std::pair<std::string, std::string> kNormsAfterAttention[] = {
    {"gemma", "post_attention_layernorm"}, {"olmo2", "post_attention_layernorm"},
    {"olmo3", "post_attention_layernorm"}, {"glm4_moe", "post_attention_layernorm"},
    {"glm4", "post_self_attn_layernorm"},  {"gpt_oss", "post_attention_layernorm"},
};

// One family's checkpoint as a GGUF file.
class Converter {
 public:
  explicit Converter(const Family& family)
      : family_(family),
        folder_(std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + family.folder),
        config_(read_json_file(folder_ + "/config.json").value()),
        source_(stacked_experts(open_checkpoint(folder_, "auto", false), ExpertStacks::kTurned)) {}

  const std::string& folder() const { return folder_; }

  // Matrices whose names have `of_8_bits` in them are blocks of 8 bits.
  std::string bytes(const std::optional<std::string>& of_8_bits = {}) {
    file_.text("general.architecture", family_.architecture);
    size("num_hidden_layers", "block_count");
    size("max_position_embeddings", "context_length");
    size("hidden_size", "embedding_length");
    size("intermediate_size", "feed_forward_length");
    size("num_attention_heads", "attention.head_count");
    if (config_.contains("kv_lora_rank")) {
      latent_sizes();
    } else {
      size("num_key_value_heads", "attention.head_count_kv");
      size("head_dim", "attention.key_length");
      size("head_dim", "attention.value_length");
    }
    size("sliding_window", "attention.sliding_window");
    for (const char* count : {"num_experts", "num_local_experts", "n_routed_experts"})
      size(count, "expert_count");
    size("num_experts_per_tok", "expert_used_count");
    size("moe_intermediate_size", "expert_feed_forward_length");
    size("shared_expert_intermediate_size", "expert_shared_feed_forward_length");
    size("n_shared_experts", "expert_shared_count");
    size("n_group", "expert_group_count");
    size("topk_group", "expert_group_used_count");
    size("first_k_dense_replace", "leading_dense_block_count");
    number("routed_scaling_factor", "expert_weights_scale");
    if (family_.rotated > 0) file_.u32(key("rope.dimension_count"), family_.rotated);
    number("rms_norm_eps", "attention.layer_norm_rms_epsilon");
    number("attn_logit_softcapping", "attn_logit_softcapping");
    number("final_logit_softcapping", "final_logit_softcapping");
    number("attention_multiplier", "attention.scale");
    number("embedding_multiplier", "embedding_scale");
    number("residual_multiplier", "residual_scale");
    number("logits_scaling", "logit_scale");
    const auto* rope = &config_.at("rope_parameters").as_object();
    if (const auto* type = rope->if_contains("rope_type"); type != nullptr && *type == "yarn") {
      file_.text(key("rope.scaling.type"), "yarn");
      file_.f32(key("rope.scaling.factor"),
                static_cast<float>(rope->at("factor").to_number<double>()));
      const auto& original = rope->at("original_max_position_embeddings");
      file_.u32(key("rope.scaling.original_context_length"), original.to_number<std::uint32_t>());
    }
    if (const auto* full = rope->if_contains("full_attention")) rope = &full->as_object();
    file_.f32(key("rope.freq_base"),
              static_cast<float>(rope->at("rope_theta").to_number<double>()));
    for (const std::string& name : source_->names())
      add(name, of_8_bits && name.find(*of_8_bits) != std::string::npos);
    for (const auto& [name, tensor] : experts_) {
      std::vector<std::int64_t> shape{tensor.count, tensor.rows, tensor.width};
      if (tensor.rows == 0) shape.erase(shape.begin() + 1);  // biases
      if (of_8_bits && tensor.rows > 0 && tensor.width % 32 == 0)
        file_.tensor(name, kQ8_0, shape, codes_of(tensor.values));
      else
        file_.floats(name, shape, tensor.values);
    }
    return file_.bytes();
  }

 private:
  void latent_sizes() {
    const auto of = [&](const char* name) {
      return static_cast<std::uint32_t>(config_.at(name).as_int64());
    };
    const std::uint32_t rank = of("kv_lora_rank"), rotated = of("qk_rope_head_dim");
    file_.u32(key("attention.kv_lora_rank"), rank).u32(key("rope.dimension_count"), rotated);
    size("q_lora_rank", "attention.q_lora_rank");
    constexpr std::uint32_t kSoftmax = 1, kSigmoid = 2;
    const bool is_v3 = config_.at("model_type") == "deepseek_v3";
    file_.u32(key("expert_gating_func"), is_v3 ? kSigmoid : kSoftmax);
    file_.boolean(key("expert_weights_norm"), config_.at("norm_topk_prob").as_bool());
    const std::uint32_t width = of("qk_nope_head_dim") + rotated;
    file_.u32(key("attention.head_count_kv"), family_.splits_heads ? 1 : of("num_attention_heads"));
    file_.u32(key("attention.key_length"), family_.splits_heads ? rank + rotated : width);
    file_.u32(key("attention.value_length"), family_.splits_heads ? rank : of("v_head_dim"));
    if (!family_.splits_heads) return;
    file_.u32(key("attention.key_length_mla"), width);
    file_.u32(key("attention.value_length_mla"), of("v_head_dim"));
  }
  // Keys and values of heads as two tensors, that of keys turned.
  void add_split_heads(const std::string& name, const std::vector<float>& values,
                       std::int64_t rank) {
    const std::int64_t heads = config_.at("num_attention_heads").as_int64(),
                       keys = config_.at("qk_nope_head_dim").as_int64(),
                       rows = keys + config_.at("v_head_dim").as_int64();
    std::vector<float> of_keys, of_values;
    for (std::int64_t h = 0; h < heads; ++h) {
      const float* const head = &values[at(h * rows * rank)];
      for (std::int64_t i = 0; i < rank; ++i)
        for (std::int64_t k = 0; k < keys; ++k) of_keys.push_back(head[k * rank + i]);
      of_values.insert(of_values.end(), head + keys * rank, head + rows * rank);
    }
    const std::string stored = stored_name(name);
    const auto renamed = [&](const char* part) {
      return stored.substr(0, stored.find("attn_kv_b")) + part + ".weight";
    };
    file_.floats(renamed("attn_k_b"), {heads, rank, keys}, of_keys);
    file_.floats(renamed("attn_v_b"), {heads, rows - keys, rank}, of_values);
  }

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
    const std::string& last = parts[parts.size() - 2];
    if (parts.back() == "sinks") return "blk." + parts[2] + ".attn_sinks.weight";
    if (parts.back() == "e_score_correction_bias") return "blk." + parts[2] + ".exp_probs_b.bias";
    std::string stored = kNames.at(last);
    if (name.find(".shared_expert") != std::string::npos && last != "shared_expert_gate")
      stored += "_shexp";
    for (const auto& [folder, norm] : kNormsAfterAttention)
      if (std::string(family_.folder).starts_with(folder) && name.find(norm) != std::string::npos)
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

  // "model.layers.1.mlp.experts.3.up_proj.weight"
  void add_expert(const std::string& name, const Tensor& tensor) {
    const std::size_t at_number = name.find(".experts.") + 9, end = name.find('.', at_number);
    const std::size_t at_layer = name.find("layers.") + 7;
    const std::string matrix = name.substr(end + 1, name.rfind('.') - end - 1);
    const std::string stored = "blk." + name.substr(at_layer, name.find('.', at_layer) - at_layer) +
                               "." + kExpertNames.at(matrix) + name.substr(name.rfind('.'));
    const bool is_bias = tensor.shape().rank() == 1;
    Experts& all = experts_[stored];
    const std::int64_t number = std::stoll(name.substr(at_number, end - at_number));
    all.rows = is_bias ? 0 : tensor.dim(0);
    all.width = is_bias ? tensor.dim(0) : tensor.dim(1);
    all.count = std::max(all.count, number + 1);
    const std::int64_t size = tensor.elements();
    if (std::ssize(all.values) < (number + 1) * size) all.values.resize(at((number + 1) * size));
    for (std::int64_t i = 0; i < size; ++i)
      all.values[at(number * size + i)] = load_float(tensor.data(), tensor.dtype(), i);
  }

  void add(const std::string& name, bool is_of_8_bits) {
    const Tensor tensor = source_->find(name, {}).value();
    if (name.find(".experts.") != std::string::npos) return add_expert(name, tensor);
    const std::int64_t rows = tensor.dim(0), width = tensor.elements() / rows;
    std::vector<float> values(at(tensor.elements()));
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      values[at(i)] = load_float(tensor.data(), tensor.dtype(),
                                 source_row(name, i / width, rows) * width + i % width);
    if (name.ends_with("norm.weight"))
      for (float& value : values) value += family_.norm_offset;
    if (family_.splits_heads && name.find("kv_b_proj") != std::string::npos)
      return add_split_heads(name, values, width);
    const bool is_router = name.ends_with("gate.weight") || name.ends_with("router.weight");
    const bool is_matrix = tensor.shape().rank() == 2 && width % 32 == 0 && !is_router;
    const std::vector<std::int64_t> shape = rows > 1 && tensor.shape().rank() == 2
                                                ? std::vector{rows, width}
                                                : std::vector{rows * width};
    if (is_of_8_bits && is_matrix)
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

  struct Experts {
    std::int64_t count = 0, rows = 0, width = 0;  // rows 0: of biases
    std::vector<float> values;
  };

  Family family_;
  std::string folder_;
  std::map<std::string, Experts> experts_;  // by their names in the file
  boost::json::object config_;
  std::unique_ptr<WeightSource> source_;
  GgufBytes file_;
};

class LoadOneGguf : public testing::Test {
 protected:
  std::vector<float> logits_of(const std::string& path, const std::string& overrides = {},
                               const std::string& dtype = "float32") {
    return whole_logits(*ops_, path,
                        {.dtype = dtype, .config_overrides = overrides, .show_progress = false},
                        {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7});
  }

  TempFolder folder_;
  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, pool_);
};

class LoadGguf : public LoadOneGguf, public testing::WithParamInterface<Family> {};

TEST_P(LoadGguf, answers_as_the_checkpoint_that_it_was_made_of) {
  const Family& family = GetParam();
  Converter converter(family);
  folder_.write("model.gguf", converter.bytes());
  const auto known = logits_of(converter.folder());
  const auto found = logits_of(folder_.path() + "/model.gguf", family.unsaid);
  ASSERT_EQ(found.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i)
    ASSERT_NEAR(found[i], known[i], family.rounding) << i;
}

TEST_P(LoadGguf, answers_nearly_so_from_blocks_of_8_bits) {
  const Family& family = GetParam();
  Converter converter(family);
  folder_.write("model.gguf", converter.bytes(""));
  const auto known = logits_of(converter.folder());
  const auto found = logits_of(folder_.path() + "/model.gguf", family.unsaid);
  const double error = relative_error(found, known);
  EXPECT_GT(error, 0.0);
  EXPECT_LT(error, family.block_error);
}

INSTANTIATE_TEST_SUITE_P(
    Families, LoadGguf,
    testing::Values(
        Family{"llama", "llama", true}, Family{"llama_bias_tied", "llama", true},
        Family{"mistral", "llama", true}, Family{"qwen2", "qwen2"}, Family{"qwen3", "qwen3"},
        Family{"smollm3", "smollm3", true, 0.0F, R"({"no_rope_layer_interval":2})"},
        Family{"granite", "granite", true, 0.0F, "", 1e-5F}, Family{"phi3", "phi3"},
        Family{"gemma2", "gemma2", false, 1.0F, R"({"query_pre_attn_scalar":24})", 1e-4F},
        Family{"gemma3", "gemma3", false, 1.0F,
               R"({"query_pre_attn_scalar":24,"sliding_window_pattern":3})", 1e-4F},
        Family{"olmo2", "olmo2"}, Family{"olmo3", "olmo2"},
        Family{"glm4", "glm4", false, 0.0F, "", 0.0F, 16}, Family{"mixtral", "llama", true},
        Family{"qwen2_moe", "qwen2moe", false, 0.0F, "", 0.0F, 0, 0.05},
        Family{"qwen3_moe", "qwen3moe", false, 0.0F, "", 0.0F, 0, 0.05}, Family{"olmoe", "olmoe"},
        Family{"gpt_oss", "gpt-oss", false, 0.0F, "", 0.0F, 0, 0.05},
        Family{"glm4_moe", "glm4moe", false, 0.0F, "", 1e-5F, 16},
        Family{"deepseek_v2", "deepseek2"},
        Family{.folder = "deepseek_v2", .architecture = "deepseek2", .splits_heads = true},
        Family{.folder = "deepseek_v2_bias", .architecture = "deepseek2", .splits_heads = true},
        Family{"deepseek_v3", "deepseek2"}, Family{"deepseek_v2_experts", "deepseek2"},
        Family{.folder = "deepseek_v3_experts",
               .architecture = "deepseek2",
               .block_error = 0.05,
               .splits_heads = true}),
    [](const auto& info) {
      return std::string(info.param.folder) + (info.param.splits_heads ? "_split" : "");
    });

// As most files have it: values in a type of their own, so that queries, keys and values are no
// one matrix where blocks are kept.
TEST_F(LoadOneGguf, answers_nearly_so_where_values_alone_are_of_8_bits) {
  Converter converter({.folder = "qwen2", .architecture = "qwen2"});
  const auto known = logits_of(converter.folder(), {}, "bfloat16");
  folder_.write("model.gguf", converter.bytes("v_proj"));
  for (const char* device : {"reference", "cpu"}) {
    ops_ = make_backend({.device = device}, pool_);
    const auto found = logits_of(folder_.path() + "/model.gguf", {}, "bfloat16");
    const double error = relative_error(found, known);
    EXPECT_GT(error, 0.0);
    EXPECT_LT(error, 0.05) << device;
  }
}

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
  EXPECT_THAT(fault_of(gguf_keys("gemma3n")),
              AllOf(HasSubstr("this model architecture is not supported"), HasSubstr("gemma3n")));
  EXPECT_THAT(fault_of(gguf_keys("qwen3").u32("qwen3.expert_count", 8)),
              HasSubstr("has experts, and they are not supported"));
  EXPECT_THAT(fault_of(gguf_keys("qwen3moe")),
              HasSubstr("lacks a key (" + path + "): expected qwen3moe.expert_count"));
  GgufBytes flat = gguf_keys("qwen3moe").u32("qwen3moe.expert_count", 8);
  flat.floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  flat.floats("blk.0.ffn_gate_exps.weight", {8, 64}, std::vector<float>(512));
  EXPECT_THAT(fault_of(flat), HasSubstr("not three-dimensional"));
  EXPECT_THAT(
      fault_of(
          gguf_keys("glm4moe").u32("glm4moe.expert_count", 8).u32("glm4moe.expert_gating_func", 1)),
      HasSubstr("expected 2, sigmoid"));
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
