#include "text/utf8.h"

#include <cstdint>

namespace foretoken {
namespace {

enum class Part { kCharacter, kBroken, kUnfinished };

struct Scan {
  Part part;
  std::size_t size;  // bytes of the character, or of the maximal broken or unfinished part
};

// Bytes that a lead byte asks for, and the range of the second one (which excludes overlong forms,
// surrogates and code points beyond U+10FFFF).
struct Lead {
  std::size_t size = 0;  // 0: no lead byte
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte >= 0xC2 && byte <= 0xDF) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .low = 0xA0};
  if (byte == 0xED) return {.size = 3, .high = 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .low = 0x90};
  if (byte == 0xF4) return {.size = 4, .high = 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return {.size = 4};
  return {};
}

// The first character of non-empty `bytes`.
Scan scan(std::string_view bytes) {
  Lead lead = lead_of(static_cast<std::uint8_t>(bytes[0]));
  if (lead.size == 0) return {Part::kBroken, 1};
  for (std::size_t at = 1; at < lead.size; ++at) {
    if (at == bytes.size()) return {Part::kUnfinished, at};
    const auto byte = static_cast<std::uint8_t>(bytes[at]);
    if (byte < lead.low || byte > lead.high) return {Part::kBroken, at};
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return {Part::kCharacter, lead.size};
}

}  // namespace

std::size_t append_complete_utf8(std::string_view bytes, std::string& out) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    const Scan next = scan(bytes.substr(used));
    if (next.part == Part::kUnfinished) break;
    out += next.part == Part::kCharacter ? bytes.substr(used, next.size) : kReplacement;
    used += next.size;
  }
  return used;
}

std::string lossy_utf8(std::string_view bytes) {
  std::string out;
  if (append_complete_utf8(bytes, out) < bytes.size()) out += kReplacement;
  return out;
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Scan next = scan(bytes);
    if (next.part != Part::kCharacter) return false;
    bytes.remove_prefix(next.size);
  }
  return true;
}

}  // namespace foretoken
