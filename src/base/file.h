#pragma once
// Reading small files (configurations, templates, tokenizers) whole. Not for weights, which are
// mapped (checkpoint/formats/mapped_file.h). Thread-safe: no state.

#include <filesystem>
#include <optional>
#include <string>

namespace foretoken {

// The bytes of a file; nullopt when there is none. Throws Error when it is no regular file (reading
// a pipe would wait for its writer) or cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path);

}  // namespace foretoken
