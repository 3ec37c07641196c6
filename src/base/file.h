#pragma once
// Reading and writing small files (configurations, templates, tokenizers) whole. Not for weights,
// which are mapped (checkpoint/formats/mapped_file.h). Thread-safe: no state.

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace foretoken {

// The bytes of a file; nullopt when there is none. Throws Error when it is no regular file (reading
// a pipe would wait for its writer) or cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path);

// Writes the pieces, one behind the other, beside the file and moves the result there: readers see
// the old file or the new one, never half of it. The folder is there. On failure the old one stays.
std::error_code replace_file(const std::filesystem::path& path,
                             std::initializer_list<std::string_view> pieces);

}  // namespace foretoken
