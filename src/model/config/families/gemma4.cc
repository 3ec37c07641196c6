#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/index.h"
#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kGemma4Features[] = {"final_logit_softcapping", "hidden_act",
                                                "num_experts", "moe_intermediate_size"};

// What keys mean that are left out, where the two makes differ.
struct Make {
  int window = 0, input_width = 0;
};

// The last layer sees all, whatever the list says.
std::vector<bool> sliding(const FileFields& fields, int layers) {
  auto slides = sliding_layers(fields, layers, [](int layer) { return (layer + 1) % 6 != 0; });
  slides.back() = false;
  return slides;
}

// Which are listed by layer, in files that newer versions of transformers wrote.
std::vector<KvHeads> listed_heads(const FileFields& fields, const boost::json::object& listed,
                                  const ModelConfig& sizes) {
  std::vector<KvHeads> heads(at(sizes.layers), {sizes.kv_heads, sizes.head_dim});
  const std::string where = fields.where() + ", per_layer_config";
  const FileFields list(listed, where);
  for (const auto& [key, value] : listed) {
    int layer = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), layer);
    const auto* const object = list.object(key);
    if (error != std::errc() || end != key.data() + key.size() || layer < 0 ||
        layer >= sizes.layers || object == nullptr)
      list.refuse(key, "settings of a layer below " + std::to_string(sizes.layers));
    const FileFields own(*object, where + ", " + std::string(key));
    for (const auto& [name, setting] : *object)
      if (name != "head_dim" && name != "num_key_value_heads")
        own.refuse(name, "head_dim and num_key_value_heads alone");
    const IntRange size{1, 1 << 14};
    const auto count = own.integer("num_key_value_heads", size);
    heads[at(layer)] = {static_cast<int>(count.value_or(sizes.kv_heads)),
                        static_cast<int>(own.integer("head_dim", size).value_or(sizes.head_dim))};
  }
  return heads;
}

// Layers that see all have wider heads, and where their values are their keys, fewer.
std::vector<KvHeads> layer_heads(const FileFields& fields, const ModelConfig& sizes,
                                 const std::vector<bool>& slides) {
  if (const auto* const listed = fields.object("per_layer_config"))
    return listed_heads(fields, *listed, sizes);
  const IntRange size{1, 1 << 14};
  const int dim = static_cast<int>(fields.integer("global_head_dim", size).value_or(512));
  const auto fewer = fields.integer("num_global_key_value_heads", size);
  const bool has_fewer = fewer && is_on(fields, "attention_k_eq_v");
  std::vector<KvHeads> heads;
  for (const bool is_local : slides)
    heads.push_back(is_local ? KvHeads{sizes.kv_heads, sizes.head_dim}
                             : KvHeads{has_fewer ? static_cast<int>(*fewer) : sizes.kv_heads, dim});
  return heads;
}

void check_heads(const FileFields& fields, const ModelConfig& sizes,
                 const std::vector<KvHeads>& heads, const std::vector<bool>& slides) {
  for (std::size_t layer = 0; layer < heads.size(); ++layer) {
    if (heads[layer].dim % 2 != 0) fields.refuse("global_head_dim", "an even number");
    if (sizes.heads % heads[layer].count != 0)
      fields.refuse("num_global_key_value_heads",
                    "a divisor of num_attention_heads = " + std::to_string(sizes.heads));
    for (std::size_t other = 0; other < layer; ++other)
      if (slides[layer] == slides[other] && !(heads[layer] == heads[other]))
        fields.refuse("per_layer_config", "the same heads in all layers of a type");
  }
}

// The last layers read keys and values of the last layer of their type in front of them.
std::vector<int> layer_kv(const FileFields& fields, const std::vector<bool>& slides) {
  const int layers = static_cast<int>(slides.size());
  const int shared = static_cast<int>(
      fields.integer("num_kv_shared_layers", {0, std::max(layers - 1, 0)}).value_or(0));
  if (shared == 0) return {};
  std::vector<int> sources;
  for (int layer = 0; layer < layers; ++layer) {
    int source = layer;
    if (layer >= layers - shared) {
      source = layers - shared - 1;
      while (source >= 0 && slides[at(source)] != slides[at(layer)]) --source;
      if (source < 0)
        fields.refuse("num_kv_shared_layers", "fewer layers: one of each type is left to read");
    }
    sources.push_back(source);
  }
  return sources;
}

ExpertBlocks gemma4_experts(const FileFields& fields) {
  if (!is_on(fields, "enable_moe_block")) return {};
  ExpertBlocks experts = read_experts(fields, {.chosen = "top_k_experts"});
  for (const char* key : {"top_k_experts", "moe_intermediate_size"})
    if (!fields.has(key)) fields.refuse_missing(key);
  if (experts.routing.experts == 0) fields.refuse("num_experts", "at least 1");
  experts.routing.normalises = true;
  experts.has_expert_scales = true;
  experts.stacks = ExpertStacks::kRows;
  experts.beside = {.mlp = "post_feedforward_layernorm_1",
                    .before = "pre_feedforward_layernorm_2",
                    .after = "post_feedforward_layernorm_2"};
  experts.names.block = "";
  experts.names.router = "router.proj";
  return experts;
}

void check_gemma4_rope(const FileFields& fields) {
  const auto* const rope = fields.object("rope_parameters");
  if (rope == nullptr) fields.refuse_missing("rope_parameters");
  for (const char* type : {"full_attention", "sliding_attention"})
    if (!rope->contains(type))
      fields.refuse("rope_parameters", "settings of full_attention and sliding_attention");
}

Blocks read_blocks(const FileFields& fields, const ModelConfig& sizes, const Make& absent) {
  if (fields.string("use_bidirectional_attention") == "all")
    fields.refuse("use_bidirectional_attention", "\"vision\" or null (text looks back only)");
  check_gemma4_rope(fields);
  const auto slides = sliding(fields, sizes.layers);
  const int window =
      static_cast<int>(fields.integer("sliding_window", {1}).value_or(absent.window));
  const bool bias = is_on(fields, "attention_bias");
  Blocks blocks{.qkv_bias = bias,
                .o_bias = bias,
                .qk_norm = true,
                .v_norm = true,
                .score_scale = 1.0,
                .local_rope_theta = 10000.0,
                .layer_heads = layer_heads(fields, sizes, slides),
                .layer_kv = layer_kv(fields, slides),
                .activation = activation(fields, "hidden_activation", "gelu_pytorch_tanh"),
                .experts = gemma4_experts(fields),
                .norms = {.after_attention = "post_attention_layernorm",
                          .before_mlp = "pre_feedforward_layernorm",
                          .after_mlp = "post_feedforward_layernorm"},
                .embedding_scale = std::sqrt(static_cast<double>(sizes.hidden)),
                .rounds_embedding_scale = true,
                .logit_cap = static_cast<float>(cap(fields, "final_logit_softcapping", 0.0))};
  blocks.has_layer_scale = true;
  check_heads(fields, sizes, blocks.layer_heads, slides);
  const IntRange width{0, 1 << 16};
  blocks.inputs.width = static_cast<int>(
      fields.integer("hidden_size_per_layer_input", width).value_or(absent.input_width));
  if (blocks.inputs.is_on() &&
      fields.integer("vocab_size_per_layer_input", {1}).value_or(262144) != sizes.vocab)
    fields.refuse("vocab_size_per_layer_input", "as many as vocab_size");
  const bool widens = is_on(fields, "use_double_wide_mlp");
  for (int layer = 0; layer < sizes.layers; ++layer) {
    const bool is_local = slides[at(layer)], is_own = blocks.kv_of(layer) == layer;
    blocks.layer_window.push_back(is_local ? window : 0);
    blocks.layer_rope.push_back(is_local ? LayerRope::kLocal : LayerRope::kMain);
    blocks.values_are_keys.push_back(!is_local && is_on(fields, "attention_k_eq_v"));
    blocks.layer_intermediate.push_back(sizes.intermediate * (widens && !is_own ? 2 : 1));
  }
  return blocks;
}

Blocks read_gemma4(const FileFields& fields, const ModelConfig& sizes) {
  return read_blocks(fields, sizes, {.window = 512, .input_width = 256});
}

Blocks read_unified(const FileFields& fields, const ModelConfig& sizes) {
  return read_blocks(fields, sizes, {.window = 1024, .input_width = 0});
}

constexpr Family::Absent kGemma4Absent{.heads = 8,
                                       .intermediate = 9216,
                                       .vocab = 262144,
                                       .kv_heads = 4,
                                       .head_dim = 256,
                                       .max_position = 131072,
                                       .rope_theta = 1000000.0,
                                       .tied_embeddings = true};

constexpr Family::Absent unified_absent() {
  Family::Absent absent = kGemma4Absent;
  absent.max_position = 262144;
  return absent;
}

}  // namespace

extern const Family gemma4{.architecture = "Gemma4ForCausalLM",
                           .model_type = "gemma4_text",
                           .absent = kGemma4Absent,
                           .features = kGemma4Features,
                           .read = read_gemma4};

extern const Family gemma4_towers{.architecture = "Gemma4ForConditionalGeneration",
                                  .model_type = "gemma4",
                                  .absent = {.tied_embeddings = true},
                                  .text_type = "gemma4_text"};

// Without towers: images and sound enter by a matrix each.
extern const Family gemma4_unified{.architecture = "Gemma4UnifiedForCausalLM",
                                   .model_type = "gemma4_unified_text",
                                   .absent = unified_absent(),
                                   .features = kGemma4Features,
                                   .read = read_unified};

extern const Family gemma4_unified_towers{.architecture = "Gemma4UnifiedForConditionalGeneration",
                                          .model_type = "gemma4_unified",
                                          .absent = {.tied_embeddings = true},
                                          .text_type = "gemma4_unified_text"};

}  // namespace foretoken::family
