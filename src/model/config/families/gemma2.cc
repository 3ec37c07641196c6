#include <cmath>

#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kGemma2Features[] = {"attn_logit_softcapping", "final_logit_softcapping",
                                                "hidden_act"};

Blocks read_gemma2(const FileFields& fields, const ModelConfig& sizes) {
  if (is_on(fields, "use_bidirectional_attention"))
    fields.refuse("use_bidirectional_attention", "false (the model looks back only)");
  const bool bias = is_on(fields, "attention_bias");
  return {.qkv_bias = bias,
          .o_bias = bias,
          .score_scale = 1.0 / std::sqrt(above_zero(fields, "query_pre_attn_scalar", 256.0)),
          .score_cap = cap(fields, "attn_logit_softcapping", 50.0),
          .layer_window =
              sliding_windows(fields, sizes.layers, [](int layer) { return layer % 2 == 0; }),
          .activation = activation(fields, "hidden_activation", "gelu_pytorch_tanh"),
          .norms = {.after_attention = "post_attention_layernorm",
                    .before_mlp = "pre_feedforward_layernorm",
                    .after_mlp = "post_feedforward_layernorm"},
          .norm_offset = 1.0F,
          .embedding_scale = std::sqrt(static_cast<double>(sizes.hidden)),
          .rounds_embedding_scale = true,
          .logit_cap = static_cast<float>(cap(fields, "final_logit_softcapping", 30.0))};
}

}  // namespace

extern const Family gemma2{
    .architecture = "Gemma2ForCausalLM",
    .model_type = "gemma2",
    .absent = {.kv_heads = 4, .head_dim = 256, .max_position = 8192, .tied_embeddings = true},
    .features = kGemma2Features,
    .read = read_gemma2};

}  // namespace foretoken::family
