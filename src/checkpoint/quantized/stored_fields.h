#pragma once
// What descriptions of quantized weights (`quantization_config`) have in common.
// Each throws Error naming the field and what was expected. For the parsers of
// StoredQuantization only.

#include <string>
#include <string_view>

#include "base/file_fields.h"
#include "checkpoint/quantized/stored_quantization.h"

namespace foretoken {

// Of a code.
inline constexpr IntRange kStoredBits{1, 64};

// Something that a description may ask for and that nobody here reads.
[[noreturn]] void refuse_stored(const FileFields& fields, const std::string& what,
                                const std::string& expected, const std::string& found);

// The width of groups, 0: whole rows; without the key `fallback`.
std::int64_t stored_group(const FileFields& fields, std::string_view key, std::int64_t fallback);
// 8 or 4; without the key what `format` has.
void take_bits(const FileFields& fields, std::string_view key, StoredFormat& format);
void take_names(const FileFields& fields, std::string_view key, StoredQuantization& stored);

}  // namespace foretoken
