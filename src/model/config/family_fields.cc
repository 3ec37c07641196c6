#include "model/config/family_fields.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/index.h"

namespace foretoken {

bool is_on(const FileFields& fields, std::string_view key) {
  return fields.boolean(key).value_or(false);
}

std::vector<int> sliding_windows(const FileFields& fields, int layers,
                                 const std::function<bool(int layer)>& slides) {
  if (fields.has_null("sliding_window")) return {};
  const auto window = static_cast<int>(fields.integer("sliding_window", {1}).value_or(4096));
  const auto types = fields.strings("layer_types");
  if (types && types->size() != at(layers))
    fields.refuse("layer_types", std::to_string(layers) + " entries");
  std::vector<int> windows;
  for (int layer = 0; layer < layers; ++layer) {
    const bool does = types ? (*types)[at(layer)] == "sliding_attention" : slides(layer);
    windows.push_back(does ? window : 0);
  }
  return windows;
}

std::vector<int> upper_windows(const FileFields& fields, int layers) {
  if (!is_on(fields, "use_sliding_window") || fields.has_null("sliding_window")) return {};
  const std::int64_t first = fields.integer("max_window_layers").value_or(28);
  return sliding_windows(fields, layers, [=](int layer) { return layer >= first; });
}

double factor(const FileFields& fields, std::string_view key, double absent) {
  const double value = fields.number(key).value_or(absent);
  if (value == 0.0 || !std::isfinite(static_cast<float>(value)))
    fields.refuse(key, "a number other than 0");
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

// Newer configs keep it among the rotary settings.
int rotary_dim(const FileFields& fields, int head_dim) {
  std::optional<double> share = fields.number("partial_rotary_factor");
  const auto* const rope = fields.object("rope_parameters");
  if (!share && rope != nullptr)
    share = FileFields(*rope, fields.where() + ", rope_parameters").number("partial_rotary_factor");
  if (!share || *share == 1.0) return 0;
  const int rotated = static_cast<int>(head_dim * std::clamp(*share, 0.0, 1.0));
  if (rotated < 2 || rotated % 2 != 0)
    fields.refuse("partial_rotary_factor", "a share that rotates an even number of elements");
  return rotated;
}

}  // namespace foretoken
