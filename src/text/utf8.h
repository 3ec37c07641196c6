#pragma once
// UTF-8 as a stream of bytes: what is complete, what is broken, what may still become a character.
// Stateless.

#include <cstddef>
#include <string>
#include <string_view>

namespace foretoken {

// Appends the characters of `bytes` to `out`, U+FFFD for each maximal broken part (as Rust's
// from_utf8_lossy and Python's errors="replace" do). Stops before an unfinished character at the
// end; returns the number of bytes used.
std::size_t append_complete_utf8(std::string_view bytes, std::string& out);

// All of `bytes`; an unfinished character at the end becomes U+FFFD too.
std::string lossy_utf8(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace foretoken
