#include "app/ngram_flags.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace foretoken {
namespace {

constexpr std::string_view kPrefix = "--speculative-ngram-";

std::int64_t within(const FlagValues& values, const std::string& name, std::int64_t least,
                    std::int64_t most) {
  const std::string flag = std::string(kPrefix) + name;
  const std::int64_t value = *values.integer(flag);
  if (value < least || value > most)
    throw UsageError({.what = flag,
                      .expected = fmt::format("{} to {}", least, most),
                      .found = std::to_string(value)});
  return value;
}

void expect_ascending(const std::string& least, int from, const std::string& most, int to) {
  if (from > to)
    throw UsageError({.what = std::string(kPrefix) + least,
                      .expected = fmt::format("at most {}{} ({})", kPrefix, most, to),
                      .found = std::to_string(from)});
}

}  // namespace

NgramOptions read_ngram_flags(const FlagValues& values) {
  NgramOptions options;
  constexpr int kMost = kMostNgramDepth;
  const auto integer = [&](const char* name, int least, int most) {
    return static_cast<int>(within(values, name, least, most));
  };
  options.max_depth = integer("max-trie-depth", 2, kMost);
  NgramShape& shape = options.shape;
  shape.min_window = integer("min-match-window-size", 1, kMost);
  shape.max_window = integer("max-match-window-size", 1, kMost);
  shape.min_breadth = integer("min-bfs-breadth", 1, 1 << 16);
  shape.max_breadth = integer("max-bfs-breadth", 1, 1 << 16);
  expect_ascending("min-match-window-size", shape.min_window, "max-match-window-size",
                   shape.max_window);
  expect_ascending("min-bfs-breadth", shape.min_breadth, "max-bfs-breadth", shape.max_breadth);
  if (shape.min_window >= options.max_depth)
    throw UsageError({.what = "--speculative-ngram-min-match-window-size",
                      .expected = fmt::format("less than --speculative-ngram-max-trie-depth ({}), "
                                              "so that something follows what matches",
                                              options.max_depth),
                      .found = std::to_string(shape.min_window)});
  shape.order = values.text("--speculative-ngram-match-type") == "PROB"
                    ? NgramShape::Order::kMostFrequent
                    : NgramShape::Order::kNewest;
  // One run with the nodes that lead to it, at least.
  options.capacity = within(values, "capacity", options.max_depth + 4, kMostNgramNodes);
  const std::string isolation = values.text("--speculative-ngram-isolation");
  options.isolation = isolation == "request"  ? DraftIsolation::kRequest
                      : isolation == "shared" ? DraftIsolation::kShared
                                              : DraftIsolation::kKey;
  return options;
}

bool has_ngram_flags(const FlagValues& values) {
  for (const auto& group : values.table())
    for (const auto& flag : group.flags)
      if (flag.name().starts_with(kPrefix) && values.given(flag.name())) return true;
  return false;
}

}  // namespace foretoken
