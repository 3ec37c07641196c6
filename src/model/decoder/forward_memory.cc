#include "model/decoder/forward_memory.h"

#include <algorithm>

#include "model/decoder/expert_mlp.h"
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

}  // namespace

std::int64_t query_width(const ModelConfig& config) {
  return std::max<std::int64_t>(std::int64_t{config.heads} * config.head_dim,
                                config.recurrent.out_width());
}

KvShape kv_shape_of(const ModelConfig& config, DType dtype) {
  return {.layers = config.layers,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .dtype = config.kv_dtype.value_or(dtype),
          .has_values = !config.latent.is_on(),
          .keeps_state = config.recurrent.layers,
          .recurrent = config.recurrent.shape};
}

std::size_t layer_bytes(const ModelConfig& config, std::int64_t rows) {
  const std::int64_t gates = config.has_output_gate ? 2 : 0;  // and what it multiplies
  const std::int64_t width = 3 * std::int64_t{config.hidden} + query_width(config) +
                             gates * config.heads * config.head_dim;
  return rows_bytes(rows, width, 6) + rows_bytes(rows / 2, width, 6) +
         rows_bytes(rows, latent_width(config), 4) + ExpertMlp::temp_bytes(config, rows) +
         RecurrentBlock::temp_bytes(config, rows);
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
              {config.hidden, query_width(config), config.intermediate, experts.intermediate,
               experts.shared_intermediate, std::int64_t{config.heads} * config.latent.value_dim,
               config.latent.q_rank}),
          .hidden = config.hidden,
          .intermediate = std::max(config.intermediate, experts.shared_intermediate),
          .chosen_experts = experts.routing.chosen,
          .expert_intermediate = experts.intermediate,
          .vocab = config.vocab,
          .attention = {.heads = config.heads,
                        .kv_heads = config.kv_heads,
                        .head_dim = config.head_dim,
                        .value_dim = config.latent.kv_rank},
          .head_input = std::max(config.latent.key_dim, config.latent.kv_rank)};
}

}  // namespace foretoken
