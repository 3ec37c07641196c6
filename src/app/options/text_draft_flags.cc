#include "app/options/text_draft_flags.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "batch/tree.h"

namespace foretoken {
namespace {

constexpr std::string_view kNgram = "--speculative-ngram-", kSuffix = "--speculative-suffix-";

std::int64_t within(const FlagValues& values, const std::string& flag, std::int64_t least,
                    std::int64_t most) {
  const std::int64_t value = *values.integer(flag);
  if (value < least || value > most)
    throw UsageError({.what = flag,
                      .expected = fmt::format("{} to {}", least, most),
                      .found = std::to_string(value)});
  return value;
}

void expect_ascending(const std::string& least, int from, const std::string& most, int to) {
  if (from > to)
    throw UsageError({.what = std::string(kNgram) + least,
                      .expected = fmt::format("at most {}{} ({})", kNgram, most, to),
                      .found = std::to_string(from)});
}

double between(const FlagValues& values, const std::string& flag, double least, double most) {
  const double value = *values.number(flag);
  if (!(value >= least && value <= most))
    throw UsageError({.what = flag,
                      .expected = fmt::format("{} to {}", least, most),
                      .found = values.text(flag)});
  return value;
}

DraftIsolation isolation_named(const std::string& name) {
  if (name == "request") return DraftIsolation::kRequest;
  return name == "shared" ? DraftIsolation::kShared : DraftIsolation::kKey;
}

}  // namespace

NgramOptions read_ngram_flags(const FlagValues& values) {
  NgramOptions options;
  constexpr int kMost = kMostNgramDepth;
  const auto integer = [&](const char* name, int least, int most) {
    return static_cast<int>(within(values, std::string(kNgram) + name, least, most));
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
  options.capacity =
      within(values, "--speculative-ngram-capacity", options.max_depth + 4, kMostNgramNodes);
  options.isolation = isolation_named(values.text("--speculative-ngram-isolation"));
  options.corpus_path = values.text("--speculative-ngram-external-corpus-path");
  options.corpus_drafts =
      integer("external-sam-budget", options.corpus_path.empty() ? 0 : 1, kMaxTreeNodes);
  options.corpus_tokens =
      within(values, "--speculative-ngram-external-corpus-max-tokens", 1, kMostCorpusTokens);
  return options;
}

SuffixOptions read_suffix_flags(const FlagValues& values) {
  SuffixOptions options;
  const auto named = [](const char* name) { return std::string(kSuffix) + name; };
  options.max_depth =
      static_cast<int>(within(values, named("max-tree-depth"), 2, kMostSuffixDepth));
  options.max_answers =
      static_cast<int>(within(values, named("max-cached-requests"), 0, 1'000'000'000));
  options.shape.factor = static_cast<float>(between(values, named("max-spec-factor"), 0, 1000));
  options.shape.least_probability =
      static_cast<float>(between(values, named("min-token-prob"), 0, 1));
  options.capacity = within(values, named("capacity"), 1, kMostSuffixTokens);
  options.isolation = isolation_named(values.text(named("isolation")));
  return options;
}

bool has_flags_like(const FlagValues& values, std::string_view beginning) {
  for (const auto& group : values.table())
    for (const auto& flag : group.flags)
      if (flag.name().starts_with(beginning) && values.given(flag.name())) return true;
  return false;
}

}  // namespace foretoken
