#include "model/heads/head_memory.h"

#include <algorithm>

#include "model/decoder/forward_memory.h"

namespace foretoken {
namespace {

std::int64_t taps_width(const HeadConfig& config) {
  return config.target_hidden * static_cast<std::int64_t>(config.taps.layer_inputs.size());
}

}  // namespace

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
