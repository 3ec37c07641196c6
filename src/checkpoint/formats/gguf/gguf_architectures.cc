#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_architecture.h"
#include "checkpoint/formats/gguf/gguf_mixed_layers.h"
#include "checkpoint/formats/gguf/gguf_states.h"

namespace foretoken {
namespace {

using LayerName = GgufArchitecture::LayerName;
using NumberKey = GgufArchitecture::NumberKey;

constexpr LayerName kLayerNames[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.*.gate_proj"},
    {"ffn_up_exps", "mlp.experts.*.up_proj"},
    {"ffn_down_exps", "mlp.experts.*.down_proj"},
    {"exp_probs_b", "mlp.gate.e_score_correction_bias"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
};

constexpr LayerName kModelNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"token_embd_norm", "model.norm"},
    {"output", "lm_head"},
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
};

constexpr LayerName kSandwichNames[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};

constexpr LayerName kFusedNames[] = {
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_up", "mlp.gate_up_proj"},
};

constexpr LayerName kGlm4Names[] = {
    {"post_attention_norm", "post_self_attn_layernorm"},
    {"post_ffw_norm", "post_mlp_layernorm"},
    {"ffn_up", "mlp.gate_up_proj"},
};

constexpr LayerName kMixtralNames[] = {
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.*.w1"},
    {"ffn_up_exps", "block_sparse_moe.experts.*.w3"},
    {"ffn_down_exps", "block_sparse_moe.experts.*.w2"},
};

constexpr LayerName kQwen2MoeNames[] = {
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
};

constexpr LayerName kGlm4MoeNames[] = {
    {"post_attention_norm", "post_attention_layernorm"},
};

constexpr LayerName kGptOssNames[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"attn_sinks", "self_attn.sinks"},
    {"ffn_gate_inp", "mlp.router"},
};

constexpr NumberKey kExpertNumbers[] = {
    {"expert_count", "num_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"leading_dense_block_count", "first_k_dense_replace"},
};

constexpr LayerName kLatentNames[] = {
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},
    {"attn_k_b", "self_attn.k_b_proj"},
    {"attn_v_b", "self_attn.v_b_proj"},
};

constexpr NumberKey kGraniteNumbers[] = {
    {"attention.scale", "attention_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"residual_scale", "residual_multiplier"},
    {"logit_scale", "logits_scaling"},
};

constexpr NumberKey kGemmaNumbers[] = {
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
};

std::optional<std::int64_t> size_of(const GgufModel& model, const std::string& key) {
  const std::string architecture = model.metadata().text("general.architecture").value_or("");
  return model.metadata().integer(architecture + "." + key);
}

// The file does not say by what queries are scaled: the largest model alone goes by its width.
void add_gemma(const GgufModel& model, std::int64_t layers_of_largest,
               boost::json::object& config) {
  const bool is_largest = config["num_hidden_layers"].as_int64() == layers_of_largest;
  config["query_pre_attn_scalar"] =
      is_largest ? config["hidden_size"].as_int64() / config["num_attention_heads"].as_int64()
                 : config["head_dim"].as_int64();
  if (const auto window = size_of(model, "attention.sliding_window"))
    config["sliding_window"] = *window;
}

void add_gemma2(const GgufModel& model, boost::json::object& config) {
  add_gemma(model, 46, config);
}

// What layers slide and by what they rotate is in newer files only, where it is not as usual.
void add_gemma3(const GgufModel& model, boost::json::object& config) {
  add_gemma(model, 62, config);
  if (const auto pattern = size_of(model, "attention.sliding_window_pattern"))
    config["sliding_window_pattern"] = *pattern;
  if (const auto theta = model.metadata().number("gemma3.rope.freq_base_swa"))
    config["rope_local_base_freq"] = *theta;
}

void add_rotated(const GgufModel& model, boost::json::object& config) {
  if (const auto rotated = size_of(model, "rope.dimension_count"))
    config["partial_rotary_factor"] =
        static_cast<double>(*rotated) / static_cast<double>(config["head_dim"].as_int64());
}

// A window of 0 is none.
void add_phi3(const GgufModel& model, boost::json::object& config) {
  if (const auto window = size_of(model, "attention.sliding_window"); window.value_or(0) > 0)
    config["sliding_window"] = *window;
  add_rotated(model, config);
}

// One name for two families: with a window it is the later one.
void add_olmo2(const GgufModel& model, boost::json::object& config) {
  const auto window = size_of(model, "attention.sliding_window");
  if (window.value_or(0) == 0) return;
  config["architectures"] = boost::json::array{"Olmo3ForCausalLM"};
  config["model_type"] = "olmo3";
  config["sliding_window"] = *window;
}

// Layers without a router are dense.
void add_dense_layers(const GgufModel& model, boost::json::object& config) {
  boost::json::array dense;
  for (std::int64_t layer = 0; layer < config["num_hidden_layers"].as_int64(); ++layer)
    if (model.find("blk." + std::to_string(layer) + ".ffn_gate_inp.weight") == nullptr)
      dense.push_back(layer);
  config["mlp_only_layers"] = std::move(dense);
}

// The file does not say that weights are normalised.
void add_qwen3_moe(const GgufModel& model, boost::json::object& config) {
  config["norm_topk_prob"] = true;
  add_dense_layers(model, config);
}

// Layers of draft heads are counted, too. Newer files say how scores are made and normalised.
void add_glm4_moe(const GgufModel& model, boost::json::object& config) {
  add_rotated(model, config);
  const std::int64_t heads = size_of(model, "nextn_predict_layers").value_or(0);
  config["num_hidden_layers"] = config["num_hidden_layers"].as_int64() - heads;
  config["num_nextn_predict_layers"] = heads;
  config["use_qk_norm"] = model.find("blk.0.attn_q_norm.weight") != nullptr;
  if (const auto normalised = model.metadata().boolean("glm4moe.expert_weights_norm"))
    config["norm_topk_prob"] = *normalised;
  constexpr std::int64_t kSigmoid = 2;
  if (const auto score = size_of(model, "expert_gating_func"); score.value_or(kSigmoid) != kSigmoid)
    model.metadata().refuse("glm4moe.expert_gating_func", std::to_string(kSigmoid) + ", sigmoid",
                            std::to_string(*score));
}

// Experts are all that is between the norms. The file does not say that the ramp of wavelengths
// begins and ends between pairs.
void add_gpt_oss(const GgufModel& model, boost::json::object& config) {
  if (const auto width = size_of(model, "expert_feed_forward_length"))
    config["intermediate_size"] = *width;
  if (auto* const scaling = config.if_contains("rope_scaling"))
    scaling->as_object()["truncate"] = false;
  if (const auto window = size_of(model, "attention.sliding_window"))
    config["sliding_window"] = *window;
}

// One name for several families, which differ in how experts are scored. Older files do not say
// groups: then only the largest model has them.
void add_latent_experts(const GgufModel& model, boost::json::object& config) {
  constexpr std::int64_t kSoftmax = 1, kSigmoid = 2, kLargest = 256;
  const std::int64_t score = size_of(model, "expert_gating_func").value_or(kSoftmax);
  if (score != kSoftmax && score != kSigmoid)
    model.metadata().refuse("deepseek2.expert_gating_func", "1 or 2, softmax or sigmoid",
                            std::to_string(score));
  const std::int64_t groups = size_of(model, "expert_group_count").value_or(0);
  if (score == kSigmoid) {
    config["architectures"] = boost::json::array{"DeepseekV3ForCausalLM"};
    config["model_type"] = "deepseek_v3";
    if (groups == 0 && size_of(model, "expert_count") != kLargest)
      config["n_group"] = config["topk_group"] = 1;
  } else if (groups > 1) {
    config["topk_method"] = "group_limited_greedy";
  }
  if (const auto normalised = model.metadata().boolean("deepseek2.expert_weights_norm"))
    config["norm_topk_prob"] = *normalised;
}

// Newer files describe one KV head as it is kept, and the heads that it stands for beside it.
void add_latent(const GgufModel& model, boost::json::object& config) {
  const auto required = [&](const char* key) {
    const auto found = size_of(model, key);
    if (!found) model.metadata().refuse_missing("deepseek2." + std::string(key));
    return *found;
  };
  const auto size = [&](const char* newer, const char* key) {
    const auto found = size_of(model, newer);
    return found ? *found : required(key);
  };
  const std::int64_t rotated = required("rope.dimension_count");
  const boost::json::value heads = config["num_attention_heads"];
  config["num_key_value_heads"] = heads;
  config["kv_lora_rank"] = required("attention.kv_lora_rank");
  const auto query_rank = size_of(model, "attention.q_lora_rank");
  config["q_lora_rank"] = query_rank ? boost::json::value(*query_rank) : nullptr;
  config["qk_rope_head_dim"] = rotated;
  config["qk_nope_head_dim"] = size("attention.key_length_mla", "attention.key_length") - rotated;
  config["v_head_dim"] = size("attention.value_length_mla", "attention.value_length");
  config["head_dim"] = rotated;
  config["attention_bias"] = model.find("blk.0.attn_kv_a_mqa.bias") != nullptr;
  // A tenth of mscale_all_dim, which is mscale, too.
  const auto tenth = model.metadata().number("deepseek2.rope.scaling.yarn_log_multiplier");
  if (auto* const scaling = config.if_contains("rope_scaling"); scaling != nullptr && tenth) {
    boost::json::object& yarn = scaling->as_object();
    yarn["mscale"] = yarn["mscale_all_dim"] = 10.0 * *tenth;
  }
  add_latent_experts(model, config);
}

void add_qwen3_next(const GgufModel& model, boost::json::object& config) {
  add_gguf_qwen3_next(model, config);
  add_dense_layers(model, config);
}

constexpr auto kArchitectures = std::to_array<GgufArchitecture>({
    {.name = "llama",
     .architecture = "MixtralForCausalLM",
     .model_type = "mixtral",
     .has_experts = true,
     .pairs_neighbours = true,
     .layer_names = kMixtralNames,
     .numbers = kExpertNumbers},
    {.name = "llama",
     .architecture = "LlamaForCausalLM",
     .model_type = "llama",
     .pairs_neighbours = true},
    {.name = "qwen2", .architecture = "Qwen2ForCausalLM", .model_type = "qwen2"},
    {.name = "qwen3", .architecture = "Qwen3ForCausalLM", .model_type = "qwen3"},
    {.name = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .model_type = "smollm3",
     .pairs_neighbours = true},
    {.name = "granite",
     .architecture = "GraniteForCausalLM",
     .model_type = "granite",
     .pairs_neighbours = true,
     .numbers = kGraniteNumbers},
    {.name = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .model_type = "gemma2",
     .norm_offset = 1.0F,
     .layer_names = kSandwichNames,
     .numbers = kGemmaNumbers,
     .add = add_gemma2},
    {.name = "gemma3",
     .architecture = "Gemma3ForCausalLM",
     .model_type = "gemma3_text",
     .norm_offset = 1.0F,
     .layer_names = kSandwichNames,
     .numbers = kGemmaNumbers,
     .add = add_gemma3},
    {.name = "gemma4",
     .architecture = "Gemma4ForCausalLM",
     .model_type = "gemma4_text",
     .layers_differ = true,
     .layer_names = kGgufMixedNames,
     .numbers = kGgufMixedNumbers,
     .add = add_gguf_mixed_layers},
    {.name = "gemma4",
     .architecture = "Gemma4ForCausalLM",
     .model_type = "gemma4_text",
     .has_experts = true,
     .layers_differ = true,
     .layer_names = kGgufMixedNames,
     .numbers = kGgufMixedNumbers,
     .add = add_gguf_mixed_layers},
    {.name = "phi3",
     .architecture = "Phi3ForCausalLM",
     .model_type = "phi3",
     .layer_names = kFusedNames,
     .add = add_phi3},
    {.name = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .model_type = "olmo2",
     .layer_names = kSandwichNames,
     .add = add_olmo2},
    {.name = "glm4",
     .architecture = "Glm4ForCausalLM",
     .model_type = "glm4",
     .layer_names = kGlm4Names,
     .add = add_rotated},
    {.name = "qwen2moe",
     .architecture = "Qwen2MoeForCausalLM",
     .model_type = "qwen2_moe",
     .has_experts = true,
     .layer_names = kQwen2MoeNames,
     .numbers = kExpertNumbers,
     .add = add_dense_layers},
    {.name = "qwen3moe",
     .architecture = "Qwen3MoeForCausalLM",
     .model_type = "qwen3_moe",
     .has_experts = true,
     .numbers = kExpertNumbers,
     .add = add_qwen3_moe},
    {.name = "olmoe",
     .architecture = "OlmoeForCausalLM",
     .model_type = "olmoe",
     .has_experts = true,
     .numbers = kExpertNumbers},
    {.name = "glm4moe",
     .architecture = "Glm4MoeForCausalLM",
     .model_type = "glm4_moe",
     .has_experts = true,
     .layer_names = kGlm4MoeNames,
     .numbers = kExpertNumbers,
     .add = add_glm4_moe},
    {.name = "gpt-oss",
     .architecture = "GptOssForCausalLM",
     .model_type = "gpt_oss",
     .has_experts = true,
     .layer_names = kGptOssNames,
     .numbers = kExpertNumbers,
     .add = add_gpt_oss},
    {.name = "deepseek2",
     .architecture = "DeepseekV2ForCausalLM",
     .model_type = "deepseek_v2",
     .has_experts = true,
     .layer_names = kLatentNames,
     .numbers = kExpertNumbers,
     .add = add_latent},
    {.name = "qwen3next",
     .architecture = "Qwen3NextForCausalLM",
     .model_type = "qwen3_next",
     .has_experts = true,
     .norm_offset = 1.0F,
     .plain_norm = "linear_attn.norm.weight",
     .layer_names = kGgufDeltaNames,
     .numbers = kExpertNumbers,
     .add = add_qwen3_next},
    {.name = "qwen35",
     .architecture = "Qwen3_5ForCausalLM",
     .model_type = "qwen3_5_text",
     .norm_offset = 1.0F,
     .plain_norm = "linear_attn.norm.weight",
     .layer_names = kGgufDeltaNames,
     .add = add_gguf_qwen3_5},
    {.name = "qwen35moe",
     .architecture = "Qwen3_5MoeForCausalLM",
     .model_type = "qwen3_5_moe_text",
     .has_experts = true,
     .norm_offset = 1.0F,
     .plain_norm = "linear_attn.norm.weight",
     .layer_names = kGgufDeltaNames,
     .numbers = kExpertNumbers,
     .add = add_gguf_qwen3_5},
    {.name = "lfm2",
     .architecture = "Lfm2ForCausalLM",
     .model_type = "lfm2",
     .layer_names = kGgufConvolutionNames,
     .add = add_gguf_lfm2},
    {.name = "lfm2moe",
     .architecture = "Lfm2MoeForCausalLM",
     .model_type = "lfm2_moe",
     .has_experts = true,
     .layer_names = kGgufConvolutionNames,
     .numbers = kExpertNumbers,
     .add = add_gguf_lfm2_moe},
    {.name = "granitehybrid",
     .architecture = "GraniteMoeHybridForCausalLM",
     .model_type = "granitemoehybrid",
     .has_experts = true,
     .pairs_neighbours = true,
     .layer_names = kGgufMambaNames,
     .numbers = kGraniteNumbers,
     .add = add_gguf_granite_hybrid},
    {.name = "granitehybrid",
     .architecture = "GraniteMoeHybridForCausalLM",
     .model_type = "granitemoehybrid",
     .pairs_neighbours = true,
     .layer_names = kGgufMambaNames,
     .numbers = kGraniteNumbers,
     .add = add_gguf_granite_hybrid},
});

std::optional<std::string_view> renamed(std::span<const LayerName> names, std::string_view stored) {
  const auto found = std::ranges::find(names, stored, &LayerName::stored);
  return found == names.end() ? std::nullopt : std::optional(found->name);
}

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufMetadata& metadata) {
  const auto name = metadata.text("general.architecture");
  if (!name) metadata.refuse_missing("general.architecture");
  const bool has_experts = metadata.integer(*name + ".expert_count").value_or(0) > 0;
  std::string supported;
  std::string_view before;  // rows of one name are neighbours
  const GgufArchitecture* without = nullptr;
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (*name == architecture.name) {
      if (architecture.has_experts == has_experts) return architecture;
      without = &architecture;
    }
    if (architecture.name != before)
      supported += (supported.empty() ? "" : ", ") + std::string(architecture.name);
    before = architecture.name;
  }
  if (without != nullptr && !without->has_experts)
    throw Error({"the model has experts, and they are not supported",
                 metadata.where() + ", key " + *name + ".expert_count",
                 "0",
                 {}});
  if (without != nullptr) metadata.refuse_missing(*name + ".expert_count");
  throw Error({"this model architecture is not supported",
               metadata.where() + ", key general.architecture", supported, *name});
}

std::optional<std::string> decoder_name(const GgufArchitecture& architecture,
                                        std::string_view stored) {
  constexpr std::string_view kBlock = "blk.";
  std::string_view kind;  // empty: it is neither
  for (const std::string_view suffix : {".weight", ".bias"})
    if (stored.ends_with(suffix)) kind = suffix;
  std::string_view name = stored.substr(0, stored.size() - kind.size());
  if (!name.starts_with(kBlock)) {
    const auto known = renamed(kModelNames, name);
    return known ? std::optional(std::string(*known) + std::string(kind)) : std::nullopt;
  }
  name.remove_prefix(kBlock.size());
  const std::size_t end = name.find('.');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string layer = "model.layers." + std::string(name.substr(0, end + 1));
  if (const auto whole = renamed(architecture.layer_names, stored.substr(kBlock.size() + end + 1)))
    return layer + std::string(*whole);
  auto known = renamed(architecture.layer_names, name.substr(end + 1));
  if (!known) known = renamed(kLayerNames, name.substr(end + 1));
  if (!known) return std::nullopt;
  const std::string named = layer + std::string(*known);
  const bool is_whole = known->ends_with("_bias") || known->ends_with("sinks");
  return is_whole ? named : named + std::string(kind);
}

std::string expert_name(const std::string& name_with_star, std::int64_t expert) {
  std::string name = name_with_star;
  return name.replace(name.find('*'), 1, std::to_string(expert));
}

}  // namespace foretoken
