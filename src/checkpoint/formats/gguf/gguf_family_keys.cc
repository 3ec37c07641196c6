#include "checkpoint/formats/gguf/gguf_family_keys.h"

#include <string>
#include <utility>

#include <boost/json/array.hpp>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_mixed_layers.h"

namespace foretoken {
namespace {

// The file does not say by what queries are scaled: the largest model alone goes by its width.
void add_gemma(const GgufModel& model, std::int64_t layers_of_largest,
               boost::json::object& config) {
  const bool is_largest = config["num_hidden_layers"].as_int64() == layers_of_largest;
  config["query_pre_attn_scalar"] =
      is_largest ? config["hidden_size"].as_int64() / config["num_attention_heads"].as_int64()
                 : config["head_dim"].as_int64();
  if (const auto window = model.size("attention.sliding_window"))
    config["sliding_window"] = *window;
}

// One name for several families, which differ in how experts are scored. Some files do not say how:
// then those with a bias of the scores have a logistic. Older ones do not say groups: then only the
// largest model has them. Weights are normalised where a file says so.
void add_latent_experts(const GgufModel& model, boost::json::object& config) {
  constexpr std::int64_t kSoftmax = 1, kSigmoid = 2, kLargest = 256;
  const bool has_bias = model.find_in_layers("exp_probs_b.bias") != nullptr;
  const std::int64_t score =
      model.size("expert_gating_func").value_or(has_bias ? kSigmoid : kSoftmax);
  if (score != kSoftmax && score != kSigmoid)
    model.metadata().refuse("deepseek2.expert_gating_func", "1 or 2, softmax or sigmoid",
                            std::to_string(score));
  const std::int64_t groups = model.size("expert_group_count").value_or(0);
  if (score == kSigmoid) {
    config["architectures"] = boost::json::array{"DeepseekV3ForCausalLM"};
    config["model_type"] = "deepseek_v3";
    if (groups == 0 && model.size("expert_count") != kLargest)
      config["n_group"] = config["topk_group"] = 1;
  } else if (groups > 1) {
    config["topk_method"] = "group_limited_greedy";
  }
  config["norm_topk_prob"] =
      model.metadata().boolean("deepseek2.expert_weights_norm").value_or(false);
}

}  // namespace

void add_gguf_gemma2(const GgufModel& model, boost::json::object& config) {
  add_gemma(model, 46, config);
}

// What layers slide and by what they rotate is in newer files only, where it is not as usual.
void add_gguf_gemma3(const GgufModel& model, boost::json::object& config) {
  add_gemma(model, 62, config);
  if (const auto pattern = model.size("attention.sliding_window_pattern"))
    config["sliding_window_pattern"] = *pattern;
  if (const auto theta = model.metadata().number("gemma3.rope.freq_base_swa"))
    config["rope_local_base_freq"] = *theta;
}

void add_gguf_rotated(const GgufModel& model, boost::json::object& config) {
  if (const auto rotated = model.size("rope.dimension_count"))
    config["partial_rotary_factor"] =
        static_cast<double>(*rotated) / static_cast<double>(config["head_dim"].as_int64());
}

// Norms of heads are in the largest model of the older family only.
void add_gguf_cohere(const GgufModel& model, boost::json::object& config) {
  config["use_qk_norm"] = model.find("blk.0.attn_q_norm.weight") != nullptr;
  if (const auto window = model.size("attention.sliding_window"))
    config["sliding_window"] = *window;
}

void add_gguf_seed_oss(const GgufModel& model, boost::json::object& config) {
  config["attention_out_bias"] = model.find("blk.0.attn_output.bias") != nullptr;
}

void add_gguf_ernie4_5(const GgufModel& model, boost::json::object& config) {
  config["use_bias"] = config["attention_bias"];
  if (model.find("blk.0.attn_q.bias") == nullptr) return;
  for (const char* other : {"blk.0.attn_output.bias", "blk.0.ffn_down.bias"})
    if (model.find(other) == nullptr)
      throw Error({"some products of the model have biases", model.path() + ", tensor " + other,
                   "biases of all products, or of none", "no such tensor"});
}

// Only the model of 64 layers slides: llama.cpp ignores which layers of others do, which who wrote
// them will not have meant. Which layers do may be a list, or as usual.
void add_gguf_exaone4(const GgufModel& model, boost::json::object& config) {
  constexpr std::int64_t kSliding = 64, kWindow = 4096;
  const std::string pattern = model.own_key("attention.sliding_window_pattern");
  const GgufValue* const found = model.metadata().find(pattern);
  config["sliding_window"] = nullptr;
  if (config["num_hidden_layers"].as_int64() != kSliding) {
    if (found != nullptr && model.size("attention.sliding_window").value_or(0) > 0)
      model.metadata().refuse(pattern, "none in a model of other than 64 layers", "windows");
    return;
  }
  config["sliding_window"] = model.size("attention.sliding_window").value_or(kWindow);
  if (found == nullptr) return;
  if (!found->is_array) {
    config["sliding_window_pattern"] = model.metadata().integer(pattern).value();
    return;
  }
  boost::json::array types;
  for (const bool slides : model.metadata().booleans(pattern))
    types.push_back(slides ? "sliding_attention" : "full_attention");
  config["layer_types"] = std::move(types);
}

// A window of 0 is none. The original length stands beside the rotary settings.
void add_gguf_phi3(const GgufModel& model, boost::json::object& config) {
  constexpr const char* kLength = "original_max_position_embeddings";
  if (const auto* const scaling = config.if_contains("rope_scaling"))
    if (const auto* const length = scaling->as_object().if_contains(kLength))
      config[kLength] = boost::json::value(*length);
  if (const auto window = model.size("attention.sliding_window"); window.value_or(0) > 0)
    config["sliding_window"] = *window;
  add_gguf_rotated(model, config);
}

// One name for two families: with a window it is the later one, all of whose layers have one theta.
void add_gguf_olmo2(const GgufModel& model, boost::json::object& config) {
  const auto window = model.size("attention.sliding_window");
  if (window.value_or(0) == 0) return;
  config["architectures"] = boost::json::array{"Olmo3ForCausalLM"};
  config["model_type"] = "olmo3";
  config["sliding_window"] = *window;
  config["rope_parameters"] = {{"sliding_attention", {{"rope_theta", config["rope_theta"]}}}};
}

// Those with an MLP and without a router. A file may hold none of a layer's tensors.
void add_gguf_dense_layers(const GgufModel& model, boost::json::object& config) {
  boost::json::array dense;
  for (std::int64_t layer = 0; layer < config["num_hidden_layers"].as_int64(); ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    if (model.find(block + "ffn_gate_inp.weight") == nullptr &&
        model.find(block + "ffn_gate.weight") != nullptr)
      dense.push_back(layer);
  }
  config["mlp_only_layers"] = std::move(dense);
}

// The file does not say that weights are normalised.
void add_gguf_qwen3_moe(const GgufModel& model, boost::json::object& config) {
  config["norm_topk_prob"] = true;
  add_gguf_dense_layers(model, config);
}

// Newer files say how scores are made and normalised.
void add_gguf_glm4_moe(const GgufModel& model, boost::json::object& config) {
  add_gguf_rotated(model, config);
  config["use_qk_norm"] = model.find("blk.0.attn_q_norm.weight") != nullptr;
  if (const auto normalised = model.metadata().boolean("glm4moe.expert_weights_norm"))
    config["norm_topk_prob"] = *normalised;
  constexpr std::int64_t kSigmoid = 2;
  if (const auto score = model.size("expert_gating_func"); score.value_or(kSigmoid) != kSigmoid)
    model.metadata().refuse("glm4moe.expert_gating_func", std::to_string(kSigmoid) + ", sigmoid",
                            std::to_string(*score));
}

// Experts are all that is between the norms. The file does not say that the ramp of wavelengths
// begins and ends between pairs.
void add_gguf_gpt_oss(const GgufModel& model, boost::json::object& config) {
  if (const auto width = model.size("expert_feed_forward_length"))
    config["intermediate_size"] = *width;
  if (!config.contains("rope_scaling"))
    config["rope_scaling"] = boost::json::object{{"rope_type", "default"}};
  config["rope_scaling"].as_object()["truncate"] = false;
  if (const auto window = model.size("attention.sliding_window"))
    config["sliding_window"] = *window;
}

// Chunks, the layers that rotate and how scores grow are not in the file, and as usual. The one
// model of 128 experts does not norm queries and keys.
void add_gguf_llama4(const GgufModel& model, boost::json::object& config) {
  constexpr std::int64_t kChunk = 8192, kPattern = 4, kLargest = 128;
  for (const auto& [key, usual] : {std::pair{"attention.sliding_window", kChunk},
                                   std::pair{"attention.sliding_window_pattern", kPattern}})
    if (const std::string own = model.own_key(key); model.metadata().has(own)) {
      const auto found = model.metadata().integer(own);
      if (found != usual)
        model.metadata().refuse(own, std::to_string(usual), std::to_string(found.value_or(0)));
    }
  const auto width = model.size("expert_feed_forward_length");
  if (!width) model.metadata().refuse_missing("llama4.expert_feed_forward_length");
  config["intermediate_size_mlp"] = config["intermediate_size"];
  config["intermediate_size"] = *width;
  if (const auto step = model.size("interleave_moe_layer_step"))
    config["interleave_moe_layer_step"] = *step;
  config["use_qk_norm"] = model.size("expert_count") != kLargest;
}

// Newer files describe one KV head as it is kept, and the heads that it stands for beside it.
void add_gguf_latent(const GgufModel& model, boost::json::object& config) {
  const auto required = [&](const char* key) {
    const auto found = model.size(key);
    if (!found) model.metadata().refuse_missing("deepseek2." + std::string(key));
    return *found;
  };
  const auto size = [&](const char* newer, const char* key) {
    const auto found = model.size(newer);
    return found ? *found : required(key);
  };
  const std::int64_t rotated = required("rope.dimension_count");
  const boost::json::value heads = config["num_attention_heads"];
  config["num_key_value_heads"] = heads;
  config["kv_lora_rank"] = required("attention.kv_lora_rank");
  const auto query_rank = model.size("attention.q_lora_rank");
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
  if (const auto growth = model.metadata().number("deepseek2.attention.temperature_scale");
      growth.value_or(0.0) != 0.0)
    model.metadata().refuse("deepseek2.attention.temperature_scale",
                            "0 (scores of latents do not grow with the position)",
                            std::to_string(*growth));
  add_latent_experts(model, config);
}

// One name for two families: that whose scores grow with the position says by how much. Its
// magnitude is as of an mscale of 1.
void add_gguf_mistral3(const GgufModel& model, boost::json::object& config) {
  auto* const scaling = config.if_contains("rope_scaling");
  const double all_dim =
      model.metadata().number("mistral3.rope.scaling.yarn_log_multiplier").value_or(0.0);
  if (scaling != nullptr && all_dim != 0.0) {
    boost::json::object& yarn = scaling->as_object();
    yarn["mscale"] = 1.0;
    yarn["mscale_all_dim"] = all_dim;
  }
  const double growth =
      model.metadata().number("mistral3.attention.temperature_scale").value_or(0.0);
  if (growth == 0.0) {
    config["sliding_window"] = nullptr;
    return;
  }
  const std::string length = "mistral3.rope.scaling.original_context_length";
  if (scaling == nullptr || !model.metadata().has(length)) model.metadata().refuse_missing(length);
  config["architectures"] = boost::json::array{"Ministral3ForCausalLM"};
  config["model_type"] = "ministral3";
  config.at("rope_scaling").as_object()["llama_4_scaling_beta"] = growth;
}

// A draft model that reads the target's keys and values: its layers are described apart.
void add_gguf_gemma4_assistant(const GgufModel& model, boost::json::object& config) {
  const auto width = model.size("embedding_length_out");
  if (!width) model.metadata().refuse_missing("gemma4-assistant.embedding_length_out");
  add_gguf_mixed_layers(model, config);
  boost::json::object layers = std::move(config);
  layers["model_type"] = "gemma4_text";
  config = {{"architectures", layers["architectures"]},
            {"model_type", "gemma4_assistant"},
            {"torch_dtype", layers["torch_dtype"]},
            {"backbone_hidden_size", *width},
            {"text_config", layers}};
}

}  // namespace foretoken
