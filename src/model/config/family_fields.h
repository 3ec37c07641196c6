#pragma once
// What the configs of several families have in common, for the files in families/. Throws Error
// naming the key. Pure functions.

#include <vector>

#include "base/file_fields.h"

namespace foretoken {

// A flag that is off where the key is absent.
bool is_on(const FileFields& fields, std::string_view key);

// A window per layer: of "sliding_window" (4096 where the key is absent) in the layers that
// "layer_types" names, or from `first` on; empty where it is null.
std::vector<int> sliding_windows(const FileFields& fields, int layers, std::int64_t first);

// The windows of Qwen: in the upper layers, where "use_sliding_window" is on.
std::vector<int> upper_windows(const FileFields& fields, int layers);

}  // namespace foretoken
