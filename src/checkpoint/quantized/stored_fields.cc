#include "checkpoint/quantized/stored_fields.h"

#include "base/error.h"

namespace foretoken {
namespace {

constexpr IntRange kGroup{-1, 1 << 20};

}  // namespace

void refuse_stored(const FileFields& fields, const std::string& what, const std::string& expected,
                   const std::string& found) {
  throw Error({what + " of quantized weights is not supported", fields.where(), expected, found});
}

std::int64_t stored_group(const FileFields& fields, std::string_view key, std::int64_t fallback) {
  const std::int64_t group = fields.integer(key, kGroup).value_or(fallback);
  if (group == -1 || group == 0) return 0;
  if (group < 0 || group % 32 != 0) fields.refuse(key, "-1 or a multiple of 32");
  return group;
}

void take_bits(const FileFields& fields, std::string_view key, StoredFormat& format) {
  format.bits = static_cast<int>(fields.integer(key, kStoredBits).value_or(format.bits));
  if (format.bits != 4 && format.bits != 8) fields.refuse(key, "4 or 8");
}

void take_names(const FileFields& fields, std::string_view key, StoredQuantization& stored) {
  if (const auto names = fields.strings(key))
    stored.ignore.insert(stored.ignore.end(), names->begin(), names->end());
}

}  // namespace foretoken
