#include "app/chat/terminal_text.h"

#include <array>

#include "text/utf8.h"

namespace foretoken {

std::string harmless(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool is_c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    const bool is_c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    if (is_c0 || is_c1)
      out += kReplacement;
    else
      out += text[i];
    if (is_c1) ++i;
  }
  return out;
}

std::string TerminalStyle::wrapped(std::string_view code, std::string_view text) const {
  if (!is_on || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string TerminalStyle::drafted(std::size_t number, std::string_view text) const {
  constexpr std::array<std::string_view, 5> kColours = {"32", "36", "35", "33", "34"};
  return wrapped(kColours[number % kColours.size()], text);
}

}  // namespace foretoken
