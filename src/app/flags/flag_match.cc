#include "app/flags/flag_match.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "app/flags/usage_error.h"

namespace foretoken {
namespace {

// Fewest insertions, deletions and replacements that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// Up to three names that a typing error may have meant, nearest first.
std::vector<std::string_view> nearest_names(std::string_view word, const FlagTable& table) {
  const int tolerance = std::max(2, static_cast<int>(word.size()) / 4);
  std::vector<std::pair<int, std::string_view>> near;
  for (const auto& group : table)
    for (const auto& flag : group.flags)
      for (const auto name : flag.names) {
        const int longer = static_cast<int>(name.size()) - static_cast<int>(word.size());
        if (std::abs(longer) > tolerance) continue;  // so many letters differ at least
        if (const int distance = edit_distance(word, name); distance <= tolerance)
          near.emplace_back(distance, name);
      }
  std::ranges::sort(near);
  std::vector<std::string_view> names;
  for (const auto& [distance, name] : near)
    if (names.size() < 3) names.push_back(name);
  return names;
}

}  // namespace

std::string join_names(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

const Flag& match_flag(const std::string& word, const FlagTable& table) {
  std::vector<const Flag*> flags;
  std::vector<std::string_view> names;  // one per flag
  for (const auto& group : table) {
    for (const auto& flag : group.flags) {
      if (std::ranges::find(flag.names, word) != flag.names.end()) return flag;
      const auto prefixed = std::ranges::find_if(
          flag.names, [&](std::string_view name) { return name.starts_with(word); });
      if (prefixed == flag.names.end()) continue;
      flags.push_back(&flag);
      names.push_back(*prefixed);
    }
  }
  if (flags.size() == 1 && word.starts_with("--") && word.size() > 2) return *flags.front();
  if (flags.size() > 1 && word.starts_with("--")) {
    constexpr std::size_t kShown = 8;
    const std::size_t hidden = names.size() > kShown ? names.size() - kShown : 0;
    names.resize(names.size() - hidden);
    throw UsageError(word + " is ambiguous: it could be " + join_names(names) +
                     (hidden > 0 ? " and " + std::to_string(hidden) + " more" : ""));
  }
  const auto near = nearest_names(word, table);
  throw UsageError("unknown flag " + word +
                   (near.empty() ? "" : ": did you mean " + join_names(near) + "?"));
}

}  // namespace foretoken
