#include "model/forward_memory.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr std::size_t kTensorAlignment = 64;

std::int64_t q_width(const ModelConfig& config) {
  return std::int64_t{config.heads} * config.head_dim;
}

std::int64_t taps_width(const HeadConfig& config) {
  return config.target_hidden * static_cast<std::int64_t>(config.taps.layer_inputs.size());
}

// LayerScratch, and that of the tail of the last layer.
std::size_t layer_bytes(const ModelConfig& config, std::int64_t rows) {
  const std::int64_t width = 3 * std::int64_t{config.hidden} + q_width(config);
  return rows_bytes(rows, width, 4) + rows_bytes(rows / 2, width, 4);
}

}  // namespace

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

// The taps side by side and their norm, before that each with a norm of its own, the feature.
std::size_t head_feature_bytes(const HeadConfig& config, std::int64_t rows) {
  const int taps = static_cast<int>(config.taps.layer_inputs.size());
  const int copies = config.tap_norms_name.empty() ? 2 : 4;
  return rows_bytes(rows, config.layer.hidden + copies * taps_width(config), 2 * taps + 3);
}

// The embedding, its norm, the feature's, both side by side, their product's norm.
std::size_t head_bytes(const HeadConfig& config, std::int64_t rows) {
  return layer_bytes(config.layer, rows) + rows_bytes(rows, 6 * config.layer.hidden, 5);
}

ForwardSize head_size(const HeadConfig& config, std::int64_t rows) {
  ForwardSize size = decoder_size(config.layer, rows);
  size.widest_input =
      std::max<std::int64_t>({size.widest_input, 2 * config.layer.hidden, taps_width(config)});
  return size;
}

}  // namespace foretoken
