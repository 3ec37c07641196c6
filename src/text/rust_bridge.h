#pragma once
// Small conversions at the border to the Rust library: views in, owned strings out. Stateless.

#include <string>
#include <string_view>

#include "text/rust/foretoken_text.h"

namespace foretoken {

inline FtSpan span_of(std::string_view text) { return {text.data(), text.size()}; }

// Copies the bytes and frees the buffer.
std::string take(FtBuffer buffer);

}  // namespace foretoken
