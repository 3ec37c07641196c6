#pragma once
// Small conversions at the border to the Rust library: views in, owned strings out. Stateless.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "text/rust/foretoken_text.h"

namespace foretoken {

inline FtSpan span_of(std::string_view text) { return {text.data(), text.size()}; }

// Copies the bytes and frees the buffer.
std::string take(FtBuffer buffer);

// The bytes of a file; nullopt when there is none. Throws Error when it cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path);

// The object in a JSON file; nullopt when there is no file. Throws Error.
std::optional<boost::json::object> read_json_file(const std::filesystem::path& path);

}  // namespace foretoken
