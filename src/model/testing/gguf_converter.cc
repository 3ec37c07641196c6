#include "model/testing/gguf_converter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "backend/float_view.h"
#include "base/index.h"
#include "base/json_text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/gguf_bytes.h"
#include "model/decoder/stacked_experts.h"
#include "model/decoder/text_weights.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

constexpr std::uint32_t kQ8_0 = 8;

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
    {"query_layernorm", "attn_q_norm"},
    {"key_layernorm", "attn_k_norm"},
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
    {"eh_proj", "nextn.eh_proj"},
    {"enorm", "nextn.enorm"},
    {"hnorm", "nextn.hnorm"},
    {"shared_head.norm", "nextn.shared_head_norm"},
};

// Matrices of experts, of which those of a layer are one tensor.
const std::map<std::string, std::string> kExpertNames = {
    {"gate_proj", "ffn_gate_exps"}, {"up_proj", "ffn_up_exps"}, {"down_proj", "ffn_down_exps"},
    {"w1", "ffn_gate_exps"},        {"w3", "ffn_up_exps"},      {"w2", "ffn_down_exps"},
};

// By the beginning of the type of the model.
const std::pair<std::string, std::string> kNormsAfterAttention[] = {
    {"gemma", "post_attention_layernorm"},   {"olmo2", "post_attention_layernorm"},
    {"olmo3", "post_attention_layernorm"},   {"glm4_moe", "post_attention_layernorm"},
    {"glm4", "post_self_attn_layernorm"},    {"gpt_oss", "post_attention_layernorm"},
    {"exaone4", "post_attention_layernorm"}, {"seed_oss", "post_attention_layernorm"},
};

// One family's checkpoint as a GGUF file.
class GgufConverter {
 public:
  explicit GgufConverter(const GgufFamily& family)
      : family_(family), config_(read_json_file(folder_of(family) + "/config.json").value()) {
    auto source = open_checkpoint(folder_of(family), "auto", false);
    if (const auto* const text = config_.if_contains("text_config")) {
      boost::json::object inner = text->as_object();
      config_ = std::move(inner);
      source = text_weights(std::move(source));
    }
    is_llama4_ = config_.contains("intermediate_size_mlp");
    const bool has_columns = is_llama4_ || model_type() == "qwen3_vl_moe_text";
    source_ = stacked_experts(std::move(source),
                              has_columns ? ExpertStacks::kColumnsOrRows : ExpertStacks::kTurned);
  }

  // Matrices whose names have `of_8_bits` in them are blocks of 8 bits.
  std::string bytes(const std::optional<std::string>& of_8_bits = {}) {
    file_.text("general.architecture", family_.architecture);
    layers();
    size("max_position_embeddings", "context_length");
    size("hidden_size", "embedding_length");
    size(is_llama4_ ? "intermediate_size_mlp" : "intermediate_size", "feed_forward_length");
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
    size(is_llama4_ ? "intermediate_size" : "moe_intermediate_size", "expert_feed_forward_length");
    size("interleave_moe_layer_step", "interleave_moe_layer_step");
    size("shared_expert_intermediate_size", "expert_shared_feed_forward_length");
    size("n_shared_experts", "expert_shared_count");
    size("n_group", "expert_group_count");
    size("topk_group", "expert_group_used_count");
    size("first_k_dense_replace", "leading_dense_block_count");
    number("routed_scaling_factor", "expert_weights_scale");
    if (family_.rotated > 0) file_.u32(key("rope.dimension_count"), family_.rotated);
    number("rms_norm_eps", "attention.layer_norm_rms_epsilon");
    number("layer_norm_eps", "attention.layer_norm_epsilon");
    number("logit_scale", "logit_scale");
    number("attn_logit_softcapping", "attn_logit_softcapping");
    number("final_logit_softcapping", "final_logit_softcapping");
    number("attention_multiplier", "attention.scale");
    number("embedding_multiplier", "embedding_scale");
    number("residual_multiplier", "residual_scale");
    number("logits_scaling", "logit_scale");
    const auto* rope = &config_.at("rope_parameters").as_object();
    if (const auto* type = rope->if_contains("rope_type"); type != nullptr && *type == "yarn")
      yarn(*rope);
    if (const auto* full = rope->if_contains("full_attention")) rope = &full->as_object();
    file_.f32(key("rope.freq_base"),
              static_cast<float>(rope->at("rope_theta").to_number<double>()));
    for (const std::string& name : source_->names())
      if (family_.has_heads || name.find(".mtp_layers.") == std::string::npos)
        add(name, of_8_bits && name.find(*of_8_bits) != std::string::npos);
    for (const auto& [name, tensor] : experts_) {
      std::vector<std::int64_t> shape{tensor.count, tensor.rows, tensor.width};
      if (tensor.rows == 0) shape.erase(shape.begin() + 1);  // biases
      if (family_.is_older) shape.erase(shape.begin());
      if (of_8_bits && tensor.rows > 0 && tensor.width % 32 == 0)
        file_.tensor(name, kQ8_0, shape, codes_of(tensor.values));
      else
        file_.floats(name, shape, tensor.values);
    }
    return file_.bytes();
  }

 private:
  // Draft heads follow the layers.
  void layers() {
    const auto heads = family_.has_heads ? config_.at("num_nextn_predict_layers").as_int64() : 0;
    const auto own = config_.at("num_hidden_layers").as_int64();
    file_.u32(key("block_count"), static_cast<std::uint32_t>(own + heads));
    if (heads > 0) file_.u32(key("nextn_predict_layers"), static_cast<std::uint32_t>(heads));
  }
  void latent_sizes() {
    const auto of = [&](const char* name) {
      return static_cast<std::uint32_t>(config_.at(name).as_int64());
    };
    const std::uint32_t rank = of("kv_lora_rank"), rotated = of("qk_rope_head_dim");
    file_.u32(key("attention.kv_lora_rank"), rank).u32(key("rope.dimension_count"), rotated);
    size("q_lora_rank", "attention.q_lora_rank");
    constexpr std::uint32_t kSoftmax = 1, kSigmoid = 2;
    const bool is_v2 = config_.at("model_type") == "deepseek_v2";
    if (!family_.is_older) file_.u32(key("expert_gating_func"), is_v2 ? kSoftmax : kSigmoid);
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

  void yarn(const boost::json::object& rope) {
    const auto number_of = [&](const char* name) { return rope.at(name).to_number<float>(); };
    file_.text(key("rope.scaling.type"), "yarn");
    file_.f32(key("rope.scaling.factor"), number_of("factor"));
    const auto& original = rope.at("original_max_position_embeddings");
    file_.u32(key("rope.scaling.original_context_length"), original.to_number<std::uint32_t>());
    if (!rope.contains("llama_4_scaling_beta")) return;
    file_.f32(key("rope.scaling.yarn_beta_fast"), number_of("beta_fast"));
    file_.f32(key("rope.scaling.yarn_beta_slow"), number_of("beta_slow"));
    file_.f32(key("rope.scaling.yarn_log_multiplier"), number_of("mscale_all_dim"));
    file_.f32(key("attention.temperature_scale"), number_of("llama_4_scaling_beta"));
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

  std::string model_type() const { return std::string(config_.at("model_type").as_string()); }

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
    const bool is_head_norm = name.find("shared_head.norm") != std::string::npos;
    std::string stored = kNames.at(is_head_norm ? "shared_head.norm" : last);
    if (name.find(".shared_expert") != std::string::npos && last != "shared_expert_gate")
      stored += "_shexp";
    const bool is_latent = config_.contains("kv_lora_rank");
    for (const auto& [type, norm] : kNormsAfterAttention)
      if (!is_latent && model_type().starts_with(type) && name.find(norm) != std::string::npos)
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
    const std::int64_t number = std::stoll(name.substr(at_number, end - at_number));
    std::string kind = kExpertNames.at(matrix);
    if (family_.is_older) kind.replace(kind.find("_exps"), 5, "." + std::to_string(number));
    const std::string stored = "blk." + name.substr(at_layer, name.find('.', at_layer) - at_layer) +
                               "." + kind + name.substr(name.rfind('.'));
    const bool is_bias = tensor.shape().rank() == 1;
    Experts& all = experts_[stored];
    all.rows = is_bias ? 0 : tensor.dim(0);
    all.width = is_bias ? tensor.dim(0) : tensor.dim(1);
    const std::int64_t place = family_.is_older ? 0 : number, size = tensor.elements();
    all.count = std::max(all.count, place + 1);
    if (std::ssize(all.values) < (place + 1) * size) all.values.resize(at((place + 1) * size));
    for (std::int64_t i = 0; i < size; ++i)
      all.values[at(place * size + i)] = load_float(tensor.data(), tensor.dtype(), i);
  }

  // Of the matrices of experts, by which stacks are told apart.
  Shape shape_of(const std::string& name) const {
    const char* const key = is_llama4_ ? "intermediate_size" : "moe_intermediate_size";
    if (name.find(".experts.") == std::string::npos || !config_.contains(key)) return {};
    const std::int64_t hidden = config_.at("hidden_size").as_int64();
    const std::int64_t width = config_.at(key).as_int64();
    return name.find("down_proj") == std::string::npos ? Shape{width, hidden}
                                                       : Shape{hidden, width};
  }

  void add(const std::string& name, bool is_of_8_bits) {
    const Tensor tensor = source_->find(name, shape_of(name)).value();
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

  GgufFamily family_;
  std::map<std::string, Experts> experts_;  // by their names in the file
  boost::json::object config_;
  bool is_llama4_;  // "intermediate_size" is that of experts
  std::unique_ptr<WeightSource> source_;
  GgufBytes file_;
};

}  // namespace

void PrintTo(const GgufFamily& family, std::ostream* out) { *out << family.folder; }

std::string folder_of(const GgufFamily& family) {
  return std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + family.folder;
}

std::string gguf_of(const GgufFamily& family, const std::optional<std::string>& of_8_bits) {
  return GgufConverter(family).bytes(of_8_bits);
}

}  // namespace foretoken
