#include "draft/catalogue/algorithms.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/letters.h"
#include "draft/catalogue/plan_drafts.h"

namespace foretoken {

// The table: one line for each algorithm, whose row is in a file of its own.
#define FORETOKEN_ALGORITHMS(ROW) \
  ROW(kEagle)                     \
  ROW(kEagle3)                    \
  ROW(kNextn)                     \
  ROW(kStandalone)                \
  ROW(kNgram)                     \
  ROW(kSuffix)                    \
  ROW(kDflash)                    \
  ROW(kDspark)                    \
  ROW(kConstraint)                \
  ROW(kPrediction)

#define FORETOKEN_DECLARE(row) extern const Algorithm row;
#define FORETOKEN_ADDRESS(row) &row,
FORETOKEN_ALGORITHMS(FORETOKEN_DECLARE)

namespace {

Algorithms& table() {
  static Algorithms rows{FORETOKEN_ALGORITHMS(FORETOKEN_ADDRESS)};
  return rows;
}

// Rows that say the same share a line of it.
std::string make_help() {
  constexpr std::string_view kJoined = "several share their trees: EAGLE3+SUFFIX";
  constexpr std::string_view kAuto =
      "auto: heads of the target's own checkpoint, and SUFFIX; none: no drafts but of predictions "
      "and grammars";
  std::string help;
  std::string_view last;
  for (const Algorithm* row : algorithms()) {
    if (row->help.empty()) continue;
    if (!last.empty()) help += row->help == last ? ", " : fmt::format(": {}; ", last);
    help += row->name;
    last = row->help;
  }
  return fmt::format("{}: {}; {}; {}", help, last, kJoined, kAuto);
}

bool is_any_given(const FlagValues& values, const std::vector<Flag>& flags) {
  return std::ranges::any_of(flags, [&](const Flag& flag) { return values.given(flag.name()); });
}

}  // namespace

const Algorithms& algorithms() { return table(); }

const Algorithm* find_algorithm(std::string_view name) {
  const auto found = std::ranges::find(algorithms(), name, &Algorithm::name);
  return found == algorithms().end() ? nullptr : *found;
}

Algorithms text_algorithms() {
  Algorithms texts;
  for (const Algorithm* row : algorithms())
    if (row->can_draft() && !row->runs_model()) texts.push_back(row);
  return texts;
}

const Algorithm& usual_text_algorithm() { return kSuffix; }

std::string names_of(const Algorithms& some) {
  std::vector<std::string_view> names;
  for (const Algorithm* row : some) names.push_back(row->name);
  return fmt::format("{}", fmt::join(names, " or "));
}

std::string_view algorithm_help() {
  static const std::string help = make_help();
  return help;
}

std::vector<Flag> algorithm_flags() {
  std::vector<Flag> all;
  for (const Algorithm* row : algorithms())
    if (row->flags != nullptr)
      for (Flag& flag : row->flags()) all.push_back(std::move(flag));
  return all;
}

OwnOptions read_algorithm_flags(const FlagValues& values) {
  OwnOptions own;
  for (const Algorithm* row : algorithms())
    if (row->read != nullptr) row->read(values, own);
  return own;
}

std::vector<std::string> algorithm_warnings(const FlagValues& values, const DraftOptions& options) {
  std::vector<std::string> warnings;
  for (const Algorithm* row : algorithms()) {
    if (!row->can_draft() || row->flags == nullptr) continue;
    if (!drafts_by(options, row->name)) {
      if (is_any_given(values, row->flags()))
        warnings.push_back(fmt::format(
            "--speculative-{}-* flags have no effect without --speculative-algorithm {}.",
            lower_case(std::string(row->name)), row->name));
    } else if (row->warnings != nullptr) {
      for (std::string& line : row->warnings(values, options.own))
        warnings.push_back(std::move(line));
    }
  }
  return warnings;
}

AddedAlgorithm::AddedAlgorithm(const Algorithm& row) { table().push_back(&row); }

}  // namespace foretoken
