#pragma once
// What the configs of families whose layers partly keep a state have in common, for the files in
// families/. Throws Error naming the key. Pure functions.

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "base/file_fields.h"
#include "model/config/recurrent_blocks.h"

namespace foretoken {

// Which layers keep a state, by "layer_types", whose entries are one of `states` or of `others`;
// nullopt where the config does not list them.
std::optional<std::vector<bool>> listed_states(const FileFields& fields, int layers,
                                               std::initializer_list<std::string_view> states,
                                               std::initializer_list<std::string_view> others);

// A size of at least 1; `absent` where the key is.
int size_field(const FileFields& fields, std::string_view key, std::int64_t absent);

// The inputs of a convolution, the token's own included.
int taps_field(const FileFields& fields, std::string_view key, std::int64_t absent);

// A matrix as it is, and some rows of one.
StoredRows whole_matrix(std::string_view name, int rows);
StoredRows rows_of(std::string_view name, int first, int rows, int stored);

}  // namespace foretoken
