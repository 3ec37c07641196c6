#include "model/config/state_fields.h"

#include <algorithm>
#include <string>

#include "base/index.h"

namespace foretoken {

std::optional<std::vector<bool>> listed_states(const FileFields& fields, int layers,
                                               std::initializer_list<std::string_view> states,
                                               std::initializer_list<std::string_view> others) {
  const auto types = fields.strings("layer_types");
  if (!types) return std::nullopt;
  if (types->size() != at(layers))
    fields.refuse("layer_types", std::to_string(layers) + " entries");
  std::vector<bool> keeps;
  for (const std::string& type : *types) {
    keeps.push_back(std::ranges::find(states, type) != states.end());
    if (!keeps.back() && std::ranges::find(others, type) == others.end())
      fields.refuse("layer_types",
                    std::string(*states.begin()) + " or " + std::string(*others.begin()));
  }
  return keeps;
}

int size_field(const FileFields& fields, std::string_view key, std::int64_t absent) {
  return static_cast<int>(fields.integer(key, {1, 1 << 20}).value_or(absent));
}

int taps_field(const FileFields& fields, std::string_view key, std::int64_t absent) {
  return static_cast<int>(fields.integer(key, {2, kStateTokens}).value_or(absent));
}

StoredRows whole_matrix(std::string_view name, int rows) { return rows_of(name, 0, rows, rows); }

StoredRows rows_of(std::string_view name, int first, int rows, int stored) {
  return {.name = name, .first = first, .rows = rows, .stored = stored};
}

}  // namespace foretoken
