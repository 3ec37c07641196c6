#include "model/config/family_fields.h"

#include <string>

#include "base/index.h"

namespace foretoken {

bool is_on(const FileFields& fields, std::string_view key) {
  return fields.boolean(key).value_or(false);
}

std::vector<int> sliding_windows(const FileFields& fields, int layers, std::int64_t first) {
  if (fields.has_null("sliding_window")) return {};
  const auto window = static_cast<int>(fields.integer("sliding_window", {1}).value_or(4096));
  const auto types = fields.strings("layer_types");
  if (types && types->size() != at(layers))
    fields.refuse("layer_types", std::to_string(layers) + " entries");
  std::vector<int> windows;
  for (int layer = 0; layer < layers; ++layer) {
    const bool slides = types ? (*types)[at(layer)] == "sliding_attention" : layer >= first;
    windows.push_back(slides ? window : 0);
  }
  return windows;
}

std::vector<int> upper_windows(const FileFields& fields, int layers) {
  if (!is_on(fields, "use_sliding_window") || fields.has_null("sliding_window")) return {};
  return sliding_windows(fields, layers, fields.integer("max_window_layers").value_or(28));
}

}  // namespace foretoken
