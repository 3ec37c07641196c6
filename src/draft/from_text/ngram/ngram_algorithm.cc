// NGRAM: what followed when the end of the text occurred before, as SGLang's flags ask for it.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "batch/tree.h"
#include "draft/algorithm.h"
#include "draft/from_text/ngram/ngram_drafter.h"
#include "draft/from_text/text_flags.h"
#include "draft/shape_rules.h"

namespace foretoken {
namespace {

using enum FlagKind;

constexpr std::string_view kPrefix = "--speculative-ngram-";
constexpr std::string_view kWindow = "--speculative-ngram-max-match-window-size";
constexpr std::string_view kCorpusPath = "--speculative-ngram-external-corpus-path";

Flag number(std::string_view name, std::string_view default_value, std::string_view text) {
  return {.names = {name}, .kind = kInteger, .text = text, .default_value = default_value};
}

std::vector<Flag> ngram_flags() {
  return {
      number("--speculative-ngram-min-match-window-size", "1",
             "tokens that must agree with an earlier text before drafts are taken from it"),
      number(kWindow, "12",
             "tokens at the end of the text that are looked up; also the default of "
             "--speculative-num-draft-tokens"),
      number("--speculative-ngram-min-bfs-breadth", "1",
             "children of a node where the longest end of the text was found"),
      number("--speculative-ngram-max-bfs-breadth", "10",
             "children of a node where only a short end was found"),
      {.names = {"--speculative-ngram-match-type"},
       .text = "BFS: what followed last first; PROB: what followed most often",
       .default_value = "BFS",
       .choices = {"BFS", "PROB"}},
      {.names = {"--speculative-ngram-max-trie-depth", "--speculative-ngram-branch-length"},
       .kind = kInteger,
       .text = "tokens of the longest run that is remembered",
       .default_value = "18"},
      number("--speculative-ngram-capacity", "10000000",
             "nodes of the memory of runs, some 50 bytes each"),
      isolation_flag("--speculative-ngram-isolation"),
      {.names = {kCorpusPath},
       .text = "texts to draft from besides: a JSONL file, each line a JSON string; more are "
               "added at /add_external_corpus"},
      number("--speculative-ngram-external-sam-budget", "0",
             "nodes of a tree that come from these texts; 0: none"),
      number("--speculative-ngram-external-corpus-max-tokens", "10000000",
             "tokens of all these texts together, 8 bytes each"),
  };
}

void expect_ascending(std::string_view least, int from, std::string_view most, int to) {
  if (from > to)
    throw UsageError({.what = fmt::format("{}{}", kPrefix, least),
                      .expected = fmt::format("at most {}{} ({})", kPrefix, most, to),
                      .found = std::to_string(from)});
}

// Bounds as SGLang has them.
void read_ngram(const FlagValues& values, OwnOptions& own) {
  auto& options = own.edit<NgramOptions>();
  constexpr int kMost = kMostNgramDepth;
  const auto integer = [&](const char* name, int least, int most) {
    return static_cast<int>(
        integer_within(values, fmt::format("{}{}", kPrefix, name), least, most));
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
  options.capacity = integer_within(values, "--speculative-ngram-capacity", options.max_depth + 4,
                                    kMostNgramNodes);
  options.isolation = isolation_named(values.text("--speculative-ngram-isolation"));
  options.corpus_path = values.text(kCorpusPath);
  options.corpus_drafts =
      integer("external-sam-budget", options.corpus_path.empty() ? 0 : 1, kMaxTreeNodes);
  options.corpus_tokens = integer_within(values, "--speculative-ngram-external-corpus-max-tokens",
                                         1, kMostCorpusTokens);
}

std::vector<std::string> warnings(const FlagValues& values, const OwnOptions& own) {
  const auto& options = own.get<NgramOptions>();
  if (!values.given(kWindow) || options.shape.max_window < options.max_depth) return {};
  return {
      fmt::format("{} {} is more than --speculative-ngram-max-trie-depth {} leaves room for: at "
                  "most {} tokens are looked up, so that one follows what matches.",
                  kWindow, options.shape.max_window, options.max_depth, options.max_depth - 1)};
}

int least_nodes(const OwnOptions& own) { return 1 + own.get<NgramOptions>().corpus_drafts; }

// Trees grow as deep as there are nodes; the steps are a number for reports only.
TreeShape ngram_shape(const DraftOptions& options, const std::string&) {
  const auto& ngram = options.own.get<NgramOptions>();
  TreeShape shape{.steps = 0, .topk = ngram.shape.max_breadth, .nodes = 0};
  if (options.topk && *options.topk != shape.topk)
    log_warning(
        "speculative_eagle_topk is set to speculative_ngram_max_bfs_breadth ({}) for NGRAM.",
        shape.topk);
  shape.nodes = options.nodes.value_or(std::clamp(ngram.shape.max_window, 2, kMaxTreeNodes));
  if (!options.nodes)
    log_warning("speculative_num_draft_tokens is set to {} for NGRAM, because none was given.",
                shape.nodes);
  check_nodes(shape.nodes);
  if (shape.nodes < least_nodes(options.own))
    throw Error(
        {.what = "corpora cannot have more drafts than a tree has",
         .where = "--speculative-ngram-external-sam-budget",
         .expected = fmt::format("at most speculative_num_draft_tokens - 1 ({})", shape.nodes - 1),
         .found = std::to_string(ngram.corpus_drafts)});
  shape.steps = options.steps.value_or(std::max(1, shape.nodes / shape.topk));
  return shape;
}

CorpusWish corpora(const DraftOptions& options) {
  const auto& ngram = options.own.get<NgramOptions>();
  if (ngram.corpus_drafts == 0) return {};
  return {.tokens = ngram.corpus_tokens, .path = ngram.corpus_path, .flag = kCorpusPath};
}

std::size_t ngram_bytes(const DraftOptions& options) {
  const std::int64_t corpus_tokens = corpora(options).tokens;
  return NgramTrie::bytes_for(options.own.get<NgramOptions>().capacity) +
         (corpus_tokens > 0 ? Corpora::bytes(corpus_tokens) : 0);
}

std::unique_ptr<Drafter> make_ngram(PartSetup part) {
  return std::make_unique<NgramDrafter>(part.setup.options.own.get<NgramOptions>(),
                                        part.shape.nodes, part.num_slots, std::move(part.pace),
                                        part.setup.corpora);
}

// From the request's own text alone: answers of earlier repeats would be known by heart.
constexpr std::array kNgramTrials{
    DraftTrial{.name = "NGRAM 16",
               .flags = "--speculative-num-draft-tokens 16 --speculative-ngram-isolation request"}};

}  // namespace

extern constinit const Algorithm kNgram = {
    .name = "NGRAM",
    .help = "earlier texts",
    .flags = ngram_flags,
    .read = read_ngram,
    .warnings = warnings,
    .greedy_variable = "SGLANG_NGRAM_FORCE_GREEDY_VERIFY",
    .shape = ngram_shape,
    .corpora = corpora,
    .least_nodes = least_nodes,
    .bytes = ngram_bytes,
    .make = make_ngram,
    .trials = kNgramTrials,
};

}  // namespace foretoken
