#include "model/decoder/forward_memory.h"

#include <algorithm>

#include "model/decoder/expert_mlp.h"
#include "model/decoder/layer_inputs.h"
#include "model/decoder/recurrent_block.h"

namespace foretoken {
namespace {

constexpr std::size_t kTensorAlignment = 64;

// What a layer of latent attention makes on the way to its queries, or behind attention: the widest
// of both.
std::int64_t latent_width(const ModelConfig& config) {
  const LatentBlocks& latent = config.latent;
  if (!latent.is_on()) return 0;
  const std::int64_t heads = config.heads;
  return std::max<std::int64_t>(latent.q_rank + heads * latent.query_dim() + config.head_dim,
                                heads * (latent.kv_rank + latent.value_dim));
}

int most_kv_heads(const ModelConfig& config) {
  int most = 0;
  for (int layer = 0; layer < config.layers; ++layer)
    most = std::max(most, config.heads_of(layer).count);
  return most;
}

// Queries, keys and values apart and, as they are put side by side, once more and again.
std::size_t value_norm_bytes(const ModelConfig& config, std::int64_t rows) {
  std::int64_t widest = 0;
  for (int layer = 0; config.v_norm && layer < config.layers; ++layer) {
    const auto [heads, dim] = config.heads_of(layer);
    widest = std::max<std::int64_t>(widest, std::int64_t{config.heads + 2 * heads} * dim);
  }
  return rows_bytes(rows, 3 * widest, 6);
}

}  // namespace

std::int64_t query_width(const ModelConfig& config) {
  return std::max<std::int64_t>(std::int64_t{config.heads} * config.widest_head(),
                                config.recurrent.out_width());
}

KvShape kv_shape_of(const ModelConfig& config, DType dtype) {
  return {.layers = config.kv_layers(),
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .dtype = config.kv_dtype.value_or(dtype),
          .has_values = !config.latent.is_on(),
          .layer_heads = config.layer_heads,
          .keeps_state = config.recurrent.layers,
          .recurrent = config.recurrent.shape};
}

std::size_t layer_bytes(const ModelConfig& config, std::int64_t rows) {
  const std::int64_t gates = config.has_output_gate ? 2 : 0;  // and what it multiplies
  const std::int64_t width = 3 * std::int64_t{config.hidden} + query_width(config) +
                             gates * config.heads * config.widest_head();
  return rows_bytes(rows, width, 6) + rows_bytes(rows / 2, width, 6) +
         rows_bytes(rows, latent_width(config), 4) + value_norm_bytes(config, rows) +
         ExpertMlp::temp_bytes(config, rows) + RecurrentBlock::temp_bytes(config, rows) +
         LayerInputs::temp_bytes(config, rows);
}

std::size_t rows_bytes(std::int64_t rows, std::int64_t width, int tensors) {
  return static_cast<std::size_t>(rows * width) * sizeof(float) +
         static_cast<std::size_t>(tensors) * kTensorAlignment;
}

std::size_t decoder_bytes(const ModelConfig& config, std::int64_t rows, std::size_t taps) {
  return layer_bytes(config, rows) + taps * rows_bytes(rows, config.hidden);
}

ForwardSize decoder_size(const ModelConfig& config, std::int64_t rows) {
  const ExpertBlocks& experts = config.experts;
  return {.rows = rows,
          .layers = config.layers,
          .context = config.context_length,
          .widest_input = std::max<std::int64_t>(
              {config.hidden, query_width(config), config.widest_mlp(), experts.intermediate,
               experts.shared_intermediate, std::int64_t{config.heads} * config.latent.value_dim,
               config.latent.q_rank}),
          .hidden = config.hidden,
          .intermediate = std::max(config.widest_mlp(), experts.shared_intermediate),
          .chosen_experts = experts.routing.chosen,
          .expert_intermediate = experts.intermediate,
          .vocab = config.vocab,
          .attention = {.heads = config.heads,
                        .kv_heads = most_kv_heads(config),
                        .head_dim = config.widest_head(),
                        .value_dim = config.latent.kv_rank},
          .head_input = std::max(config.latent.key_dim, config.latent.kv_rank),
          .recurrent = config.recurrent.shape};
}

}  // namespace foretoken
