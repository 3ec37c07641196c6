#include <cmath>

#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kGemma3Features[] = {"final_logit_softcapping", "hidden_act"};

// Five of six layers slide, and rotate by a theta of their own.
Blocks read_gemma3(const FileFields& fields, const ModelConfig& sizes) {
  if (is_on(fields, "use_bidirectional_attention"))
    fields.refuse("use_bidirectional_attention", "false (the model looks back only)");
  const std::int64_t pattern = fields.integer("sliding_window_pattern", {1}).value_or(6);
  const auto slides = [=](int layer) { return (layer + 1) % pattern != 0; };
  const bool bias = is_on(fields, "attention_bias");
  return {.qkv_bias = bias,
          .o_bias = bias,
          .qk_norm = true,
          .score_scale = 1.0 / std::sqrt(above_zero(fields, "query_pre_attn_scalar", 256.0)),
          .local_rope_theta = above_zero(fields, "rope_local_base_freq", 10000.0),
          .layer_window = sliding_windows(fields, sizes.layers, slides),
          .layer_rope = local_ropes(fields, sizes.layers, slides),
          .activation = activation(fields, "hidden_activation", "gelu_pytorch_tanh"),
          .norms = {.after_attention = "post_attention_layernorm",
                    .before_mlp = "pre_feedforward_layernorm",
                    .after_mlp = "post_feedforward_layernorm"},
          .norm_offset = 1.0F,
          .embedding_scale = std::sqrt(static_cast<double>(sizes.hidden)),
          .rounds_embedding_scale = true,
          .logit_cap = static_cast<float>(cap(fields, "final_logit_softcapping", 0.0))};
}

// With towers transformers computes none, whatever the text says.
void check_cap(const FileFields& text, const ModelConfig& config) {
  if (config.logit_cap != 0)
    text.refuse("final_logit_softcapping", "null (logits of a model with towers are not capped)");
}

}  // namespace

extern const Family gemma3{.architecture = "Gemma3ForCausalLM",
                           .model_type = "gemma3_text",
                           .absent = {.heads = 8,
                                      .vocab = 262208,
                                      .kv_heads = 4,
                                      .head_dim = 256,
                                      .max_position = 131072,
                                      .rope_theta = 1000000.0,
                                      .tied_embeddings = true},
                           .features = kGemma3Features,
                           .read = read_gemma3};

extern const Family gemma3_towers{.architecture = "Gemma3ForConditionalGeneration",
                                  .model_type = "gemma3",
                                  .absent = {.tied_embeddings = true},
                                  .text_type = "gemma3_text",
                                  .check_text = check_cap};

}  // namespace foretoken::family
