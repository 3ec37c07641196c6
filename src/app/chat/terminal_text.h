#pragma once
// What a terminal is sent: text without what would command it, and colours. Pure functions.

#include <string>
#include <string_view>

namespace foretoken {

// A model may write anything: control characters but line feeds and tabs become U+FFFD. Valid UTF-8
// in, valid UTF-8 out.
std::string harmless(std::string_view text);

// Sequences around text; empty where colours are off.
struct TerminalStyle {
  bool is_on = false;

  std::string faint(std::string_view text) const { return wrapped("2", text); }
  std::string fault(std::string_view text) const { return wrapped("31", text); }
  // Of the drafter with this number, counted in the order of appearance.
  std::string drafted(std::size_t number, std::string_view text) const;

 private:
  std::string wrapped(std::string_view code, std::string_view text) const;
};

}  // namespace foretoken
