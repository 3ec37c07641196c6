#include "model/decoder/forward_memory.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::size_t kTensorAlignment = 64;

std::int64_t q_width(const ModelConfig& config) {
  return std::int64_t{config.heads} * config.head_dim;
}

}  // namespace

std::size_t layer_bytes(const ModelConfig& config, std::int64_t rows) {
  const std::int64_t width = 3 * std::int64_t{config.hidden} + q_width(config);
  return rows_bytes(rows, width, 4) + rows_bytes(rows / 2, width, 4);
}

std::size_t rows_bytes(std::int64_t rows, std::int64_t width, int tensors) {
  return static_cast<std::size_t>(rows * width) * sizeof(float) +
         static_cast<std::size_t>(tensors) * kTensorAlignment;
}

std::size_t decoder_bytes(const ModelConfig& config, std::int64_t rows, std::size_t taps) {
  return layer_bytes(config, rows) + taps * rows_bytes(rows, config.hidden);
}

ForwardSize decoder_size(const ModelConfig& config, std::int64_t rows) {
  return {
      .rows = rows,
      .layers = config.layers,
      .context = config.context_length,
      .widest_input = std::max<std::int64_t>({config.hidden, q_width(config), config.intermediate}),
      .intermediate = config.intermediate,
      .vocab = config.vocab,
      .attention = {
          .heads = config.heads, .kv_heads = config.kv_heads, .head_dim = config.head_dim}};
}

}  // namespace foretoken
