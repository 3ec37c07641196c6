#include "app/machine/user_path.h"

#include <algorithm>

#include <pwd.h>
#include <unistd.h>

namespace foretoken {
namespace {

std::string folder_of(const passwd* user) {
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

std::string with_home(std::string_view path, const Variables& variables) {
  if (!path.starts_with('~')) return std::string(path);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string user(path.substr(1, end - 1));
  std::string home = user.empty() ? home_of(variables) : folder_of(getpwnam(user.c_str()));
  if (home.empty()) return std::string(path);
  while (home.ends_with('/')) home.pop_back();
  home += path.substr(end);
  return home.empty() ? "/" : home;
}

bool is_of_name(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

std::string home_of(const Variables& variables) {
  const auto home = variables.find("HOME");
  if (home != variables.end() && !home->second.empty()) return home->second;
  return folder_of(getpwuid(getuid()));
}

std::string expanded_path(std::string_view path, const Variables& variables) {
  const std::string text = with_home(path, variables);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t dollar = std::min(text.find('$', i), text.size());
    out.append(text, i, dollar - i);
    if (dollar == text.size()) break;
    const bool in_braces = dollar + 1 < text.size() && text[dollar + 1] == '{';
    const std::size_t begin = dollar + (in_braces ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && (in_braces ? text[end] != '}' : is_of_name(text[end]))) ++end;
    const auto value = variables.find(std::string_view(text).substr(begin, end - begin));
    i = std::min(end + (in_braces ? 1 : 0), text.size());
    const bool is_closed = !in_braces || end < text.size();
    if (is_closed && value != variables.end())
      out += value->second;
    else
      out.append(text, dollar, i - dollar);
  }
  return out;
}

}  // namespace foretoken
