#include <algorithm>
#include <array>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_architecture.h"

namespace foretoken {
namespace {

using LayerName = GgufArchitecture::LayerName;
using NumberKey = GgufArchitecture::NumberKey;

constexpr LayerName kLayerNames[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

constexpr LayerName kModelNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
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

constexpr NumberKey kGraniteNumbers[] = {
    {"attention.scale", "attention_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"residual_scale", "residual_multiplier"},
    {"logit_scale", "logits_scaling"},
};

constexpr NumberKey kGemma2Numbers[] = {
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
};

std::optional<std::int64_t> size_of(const GgufModel& model, const std::string& key) {
  const std::string architecture = model.metadata().text("general.architecture").value_or("");
  return model.metadata().integer(architecture + "." + key);
}

// The file does not say by what queries are scaled: the largest model alone goes by its width.
void add_gemma2(const GgufModel& model, boost::json::object& config) {
  constexpr std::int64_t kLayersOfLargest = 46;
  const bool is_largest = config["num_hidden_layers"].as_int64() == kLayersOfLargest;
  config["query_pre_attn_scalar"] =
      is_largest ? config["hidden_size"].as_int64() / config["num_attention_heads"].as_int64()
                 : config["head_dim"].as_int64();
  if (const auto window = size_of(model, "attention.sliding_window"))
    config["sliding_window"] = *window;
}

// A window of 0 is none.
void add_phi3(const GgufModel& model, boost::json::object& config) {
  if (const auto window = size_of(model, "attention.sliding_window"); window.value_or(0) > 0)
    config["sliding_window"] = *window;
  if (const auto rotated = size_of(model, "rope.dimension_count"))
    config["partial_rotary_factor"] =
        static_cast<double>(*rotated) / static_cast<double>(config["head_dim"].as_int64());
}

constexpr auto kArchitectures = std::to_array<GgufArchitecture>({
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
     .numbers = kGemma2Numbers,
     .add = add_gemma2},
    {.name = "phi3",
     .architecture = "Phi3ForCausalLM",
     .model_type = "phi3",
     .layer_names = kFusedNames,
     .add = add_phi3},
});

std::optional<std::string_view> renamed(std::span<const LayerName> names, std::string_view stored) {
  const auto found = std::ranges::find(names, stored, &LayerName::stored);
  return found == names.end() ? std::nullopt : std::optional(found->name);
}

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufMetadata& metadata) {
  const auto name = metadata.text("general.architecture");
  if (!name) metadata.refuse_missing("general.architecture");
  std::string supported;
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (*name == architecture.name) return architecture;
    supported += (supported.empty() ? "" : ", ") + std::string(architecture.name);
  }
  throw Error({"this model architecture is not supported",
               metadata.where() + ", key general.architecture", supported, *name});
}

std::optional<std::string> decoder_name(const GgufArchitecture& architecture,
                                        std::string_view stored) {
  constexpr std::string_view kBlock = "blk.";
  const std::size_t dot = stored.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view kind = stored.substr(dot);  // ".weight" or ".bias"
  std::string_view name = stored.substr(0, dot);
  if (!name.starts_with(kBlock)) {
    const auto known = renamed(kModelNames, name);
    return known ? std::optional(std::string(*known) + std::string(kind)) : std::nullopt;
  }
  name.remove_prefix(kBlock.size());
  const std::size_t end = name.find('.');
  if (end == std::string_view::npos) return std::nullopt;
  auto known = renamed(architecture.layer_names, name.substr(end + 1));
  if (!known) known = renamed(kLayerNames, name.substr(end + 1));
  if (!known) return std::nullopt;
  return "model.layers." + std::string(name.substr(0, end + 1)) + std::string(*known) +
         std::string(kind);
}

}  // namespace foretoken
