#include "app/options/tune_options.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace foretoken {
namespace {

constexpr int kMostAtOnce = 4096;

int integer_between(const FlagValues& values, std::string_view name, std::int64_t least,
                    std::int64_t most) {
  return static_cast<int>(integer_within(values, name, least, most));
}

// What a reader makes of each part between commas; it says false where it is wrong.
template <typename T, typename Read>
std::vector<T> list_of(const std::string& flag, const std::string& text,
                       const std::string& expected, Read read) {
  std::vector<T> values;
  for (std::string_view left = text;;) {
    const auto end = std::min(left.find(','), left.size());
    const std::string_view word = left.substr(0, end);
    T value{};
    const auto [last, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (fault != std::errc() || last != word.data() + word.size() || !read(value))
      throw UsageError({.what = flag,
                        .expected = expected + ", separated by commas",
                        .found = "'" + text + "'"});
    values.push_back(value);
    if (end == left.size()) break;
    left.remove_prefix(end + 1);
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

void refuse_together(const FlagValues& values, std::string_view one,
                     std::initializer_list<std::string_view> others) {
  if (!values.given(one)) return;
  for (const std::string_view other : others)
    if (values.given(other)) throw UsageError(fmt::format("{} has no use with {}", other, one));
}

}  // namespace

TuneOptions resolve_tune_options(const FlagValues& values) {
  refuse_together(values, "--record-only", {"--replay", "--costs", "--validate", "--rounds"});
  refuse_together(values, "--replay",
                  {"--prompts", "--limit", "--turns", "--temperature", "--max-new-tokens",
                   "--record-steps", "--record-topk", "--measure-seconds"});
  refuse_together(values, "--costs", {"--measure-seconds"});
  TuneOptions options;
  options.prompts = values.text("--prompts");
  options.batch_sizes = list_of<int>("--batch-sizes", values.text("--batch-sizes"),
                                     fmt::format("numbers from 1 to {}", kMostAtOnce),
                                     [](int size) { return size >= 1 && size <= kMostAtOnce; });
  options.out = values.text("--out");
  if (options.out.empty()) throw UsageError("--out: expected a folder, found ''");
  options.record_only = values.on("--record-only");
  options.replay = values.text("--replay");
  options.costs = values.text("--costs");
  options.validate = integer_between(values, "--validate", 0, 1000);
  options.rounds = integer_between(values, "--rounds", 3, 1000);
  options.max_new_tokens = integer_between(values, "--max-new-tokens", 2, 1 << 20);
  if (values.given("--limit")) options.limit = integer_between(values, "--limit", 1, 1 << 30);
  options.turns = integer_between(values, "--turns", 1, 1000);
  options.temperature = static_cast<float>(number_within(values, "--temperature", 0, 100));
  options.record_steps = integer_between(values, "--record-steps", 1, 32);
  options.record_topk = integer_between(values, "--record-topk", 1, 16);
  options.measure_seconds = number_within(values, "--measure-seconds", 0.1, 3600);
  return options;
}

}  // namespace foretoken
