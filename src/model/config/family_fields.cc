#include "model/config/family_fields.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/index.h"
#include "model/config/rope_settings.h"

namespace foretoken {
std::vector<bool> sliding_layers(const FileFields& fields, int layers,
                                 const std::function<bool(int layer)>& slides) {
  const auto types = fields.strings("layer_types");
  if (types && types->size() != at(layers))
    fields.refuse("layer_types", std::to_string(layers) + " entries");
  std::vector<bool> sliding;
  for (int layer = 0; layer < layers; ++layer)
    sliding.push_back(types ? (*types)[at(layer)] == "sliding_attention" : slides(layer));
  return sliding;
}

bool is_on(const FileFields& fields, std::string_view key) {
  return fields.boolean(key).value_or(false);
}

std::vector<int> sliding_windows(const FileFields& fields, int layers,
                                 const std::function<bool(int layer)>& slides) {
  if (fields.has_null("sliding_window")) return {};
  const auto window = static_cast<int>(fields.integer("sliding_window", {1}).value_or(4096));
  std::vector<int> windows;
  for (const bool does : sliding_layers(fields, layers, slides))
    windows.push_back(does ? window : 0);
  return windows;
}

std::vector<int> equal_windows(const FileFields& fields, int layers) {
  const auto windows = sliding_windows(fields, layers, [](int) { return true; });
  if (std::ranges::count(windows, 0) > 0)
    fields.refuse("layer_types", "sliding_attention (models of this family slide in all layers)");
  return windows;
}

std::vector<LayerRope> local_ropes(const FileFields& fields, int layers,
                                   const std::function<bool(int layer)>& slides) {
  std::vector<LayerRope> ropes;
  for (const bool is_local : sliding_layers(fields, layers, slides))
    ropes.push_back(is_local ? LayerRope::kLocal : LayerRope::kMain);
  return ropes;
}

std::vector<LayerRope> listed_ropes(const FileFields& fields, int layers) {
  const std::int64_t interval = fields.integer("no_rope_layer_interval", {1}).value_or(4);
  const auto listed = fields.integers("no_rope_layers", {0, 1});
  if (!listed.empty() && listed.size() < at(layers))
    fields.refuse("no_rope_layers", std::to_string(layers) + " entries");
  std::vector<LayerRope> ropes;
  for (int layer = 0; layer < layers; ++layer) {
    const bool rotates = listed.empty() ? (layer + 1) % interval != 0 : listed[at(layer)] == 1;
    ropes.push_back(rotates ? LayerRope::kMain : LayerRope::kNone);
  }
  return ropes;
}

std::vector<int> upper_windows(const FileFields& fields, int layers, std::int64_t absent) {
  if (!is_on(fields, "use_sliding_window") || fields.has_null("sliding_window")) return {};
  const std::int64_t first = fields.integer("max_window_layers").value_or(absent);
  return sliding_windows(fields, layers, [=](int layer) { return layer >= first; });
}

double factor(const FileFields& fields, std::string_view key, double absent) {
  const double value = fields.number(key).value_or(absent);
  if (value == 0.0 || !std::isfinite(static_cast<float>(value)))
    fields.refuse(key, "a number other than 0");
  return value;
}

double above_zero(const FileFields& fields, std::string_view key, double absent) {
  const double value = fields.number(key).value_or(absent);
  if (!(value > 0.0)) fields.refuse(key, "a number above 0");
  return value;
}

double cap(const FileFields& fields, std::string_view key, double absent) {
  if (fields.has_null(key)) return 0.0;
  const double value = fields.number(key).value_or(absent);
  if (!(value >= 0.0 && value < 1e30)) fields.refuse(key, "a number of at least 0");
  return value;
}

Activation activation(const FileFields& fields, std::string_view key, std::string_view absent) {
  constexpr std::pair<std::string_view, Activation> kNames[] = {
      {"silu", Activation::kSilu},
      {"swish", Activation::kSilu},
      {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_new", Activation::kGeluTanh},
      {"gelu", Activation::kGelu},
  };
  const std::string name = fields.string(key).value_or(std::string(absent));
  for (const auto& [known, act] : kNames)
    if (name == known) return act;
  fields.refuse(key, "silu, gelu_pytorch_tanh or gelu");
}

int rotary_dim(const FileFields& fields, int head_dim, double absent) {
  const double share = rope_number(fields, "partial_rotary_factor", absent);
  if (share == 1.0) return 0;
  const int rotated = static_cast<int>(head_dim * std::clamp(share, 0.0, 1.0));
  if (rotated < 2 || rotated % 2 != 0) {
    const FileFields rope = rope_settings(fields);
    (rope.has("partial_rotary_factor") ? rope : fields)
        .refuse("partial_rotary_factor", "a share that rotates an even number of elements");
  }
  return rotated;
}

Blocks latent_layers(const FileFields& fields, const ModelConfig& sizes,
                     const LatentBlocks& absent) {
  const IntRange width{1, 1 << 16};
  const auto size = [&](std::string_view key, int of_absent) {
    return static_cast<int>(fields.integer(key, width).value_or(of_absent));
  };
  LatentBlocks latent = absent;
  latent.kv_rank = size("kv_lora_rank", absent.kv_rank);
  // Null: queries are made of the input itself.
  latent.q_rank = fields.has_null("q_lora_rank") ? 0 : size("q_lora_rank", absent.q_rank);
  latent.key_dim = size("qk_nope_head_dim", absent.key_dim);
  latent.rope_dim = size("qk_rope_head_dim", absent.rope_dim);
  latent.value_dim = size("v_head_dim", absent.value_dim);
  if (latent.kv_rank % 2 != 0) fields.refuse("kv_lora_rank", "an even number");
  if (latent.rope_dim % 2 != 0) fields.refuse("qk_rope_head_dim", "an even number");
  if (sizes.kv_heads != sizes.heads)
    fields.refuse("num_key_value_heads", "as many as num_attention_heads");
  if (rope_number(fields, "partial_rotary_factor", 1.0) != 1.0)
    fields.refuse("partial_rotary_factor", "1 (qk_rope_head_dim says what is rotated)");
  latent.pairs_neighbours = fields.boolean("rope_interleave").value_or(true);
  const bool bias = is_on(fields, "attention_bias");
  return {.latent = latent,
          .qkv_bias = bias,
          .o_bias = bias,
          .rotary_dim = latent.rope_dim,
          .activation = activation(fields, "hidden_act", "silu")};
}

void check_magnitude(const FileFields& fields) {
  const FileFields rope = rope_settings(fields);
  const std::string type = rope.string(rope.has("rope_type") ? "rope_type" : "type").value_or("");
  const bool has_magnitude = type == "yarn" || type == "longrope" || type == "su";
  if (has_magnitude && rope.number("attention_factor").value_or(0.0) != 1.0)
    rope.refuse("attention_factor", "1 (queries and keys are normalised after the rotation)");
}

void divide_into_heads(const FileFields& fields, ModelConfig& sizes) {
  sizes.head_dim = sizes.hidden / sizes.heads;
  if (sizes.head_dim % 2 != 0 || sizes.hidden % sizes.heads != 0)
    fields.refuse("num_attention_heads", "a divisor of hidden_size into even heads");
}

LayerNorms norms_behind() {
  return {.before_attention = {},
          .after_attention = "post_attention_layernorm",
          .before_mlp = {},
          .after_mlp = "post_feedforward_layernorm"};
}

}  // namespace foretoken
