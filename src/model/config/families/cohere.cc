#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kCohereFeatures[] = {"logit_scale"};

// Attention and MLP read one layer norm of the stream.
Blocks cohere_blocks(const FileFields& fields) {
  const bool bias = is_on(fields, "attention_bias");
  return {.qkv_bias = bias,
          .o_bias = bias,
          .pairs_neighbours = true,
          .norms = {.before_mlp = {}},
          .centres_stream = true,
          .is_parallel = true,
          .logit_scale = static_cast<float>(factor(fields, "logit_scale", 0.0625))};
}

Blocks read_cohere(const FileFields& fields, const ModelConfig&) {
  if (is_on(fields, "use_qk_norm"))
    fields.refuse("use_qk_norm", "false (layer norms of heads are not computed)");
  return cohere_blocks(fields);
}

// Layers that do not slide are not rotated.
Blocks read_cohere2(const FileFields& fields, const ModelConfig& sizes) {
  if (fields.has_null("sliding_window")) fields.refuse("sliding_window", "a size");
  const std::int64_t pattern = fields.integer("sliding_window_pattern", {1}).value_or(4);
  Blocks blocks = cohere_blocks(fields);
  blocks.layer_window =
      sliding_windows(fields, sizes.layers, [=](int layer) { return (layer + 1) % pattern != 0; });
  for (const int window : blocks.layer_window)
    blocks.layer_rope.push_back(window > 0 ? LayerRope::kMain : LayerRope::kNone);
  return blocks;
}

void resize_cohere(const FileFields& fields, ModelConfig& sizes) {
  const double eps = fields.number("layer_norm_eps").value_or(1e-5);
  if (eps < 0.0) fields.refuse("layer_norm_eps", "a number of at least 0");
  sizes.rms_eps = static_cast<float>(eps);
  // What it was trained for; max_position_embeddings may say less.
  if (const auto length = fields.integer("model_max_length", {1, 1 << 30}))
    sizes.max_position = static_cast<int>(*length);
}

void resize_cohere2(const FileFields& fields, ModelConfig& sizes) {
  resize_cohere(fields, sizes);
  divide_into_heads(fields, sizes);
}

constexpr Family::Absent cohere_absent(double rope_theta) {
  return {.heads = 64,
          .intermediate = 22528,
          .vocab = 256000,
          .max_position = 8192,
          .rope_theta = rope_theta,
          .tied_embeddings = true};
}

}  // namespace

// Command-R, Aya Expanse
extern const Family cohere{.architecture = "CohereForCausalLM",
                           .model_type = "cohere",
                           .absent = cohere_absent(500000.0),
                           .features = kCohereFeatures,
                           .read = read_cohere,
                           .resize = resize_cohere};

// Command-R7B, Command-A, Tiny Aya
extern const Family cohere2{.architecture = "Cohere2ForCausalLM",
                            .model_type = "cohere2",
                            .absent = cohere_absent(10000.0),
                            .features = kCohereFeatures,
                            .read = read_cohere2,
                            .resize = resize_cohere2};

}  // namespace foretoken::family
