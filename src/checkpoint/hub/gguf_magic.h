#pragma once
// GGUF files are told from others by their first four bytes, so that errors can say what was found.
// Not a reader of them. Any thread.

#include <string>

namespace foretoken {

bool is_gguf(const std::string& path);
// Whether a file of the folder is one.
bool holds_gguf(const std::string& folder);

}  // namespace foretoken
