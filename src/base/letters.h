#pragma once
// Text in one case, as names are compared that may be written in any: letters of ASCII, whatever
// the locale. Pure functions.

#include <string>

namespace foretoken {

inline std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

inline std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

}  // namespace foretoken
