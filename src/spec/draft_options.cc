#include "spec/draft_options.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"
#include "batch/tree.h"

namespace foretoken {
namespace {

constexpr std::array kSupported{"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "SUFFIX"};
constexpr std::array kKnown{"DFLASH", "DSPARK"};

TreeShape usual_shape(const std::string& algorithm, const std::string& target_architecture) {
  constexpr std::array kBranching{"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"};
  if (algorithm != "STANDALONE" &&
      std::find(kBranching.begin(), kBranching.end(), target_architecture) != kBranching.end())
    return {.steps = 5, .topk = 4, .nodes = 8};
  return {.steps = 3, .topk = 1, .nodes = 4};
}

void check_nodes(const TreeShape& shape) {
  if (shape.nodes > kMaxTreeNodes)
    throw Error({.what = "a tree of this size cannot be verified",
                 .where = "--speculative-num-draft-tokens",
                 .expected = fmt::format("at most {}", kMaxTreeNodes),
                 .found = std::to_string(shape.nodes)});
}

// Trees of n-grams grow as deep as there are nodes; the steps are a number for reports only.
TreeShape ngram_shape(const DraftOptions& options) {
  TreeShape shape{.steps = 0, .topk = options.ngram.shape.max_breadth, .nodes = 0};
  if (options.topk && *options.topk != shape.topk)
    log_warning(
        "speculative_eagle_topk is set to speculative_ngram_max_bfs_breadth ({}) for NGRAM.",
        shape.topk);
  shape.nodes =
      options.nodes.value_or(std::clamp(options.ngram.shape.max_window, 2, kMaxTreeNodes));
  if (!options.nodes)
    log_warning("speculative_num_draft_tokens is set to {} for NGRAM, because none was given.",
                shape.nodes);
  check_nodes(shape);
  if (options.ngram.corpus_drafts > shape.nodes - 1)
    throw Error(
        {.what = "corpora cannot have more drafts than a tree has",
         .where = "--speculative-ngram-external-sam-budget",
         .expected = fmt::format("at most speculative_num_draft_tokens - 1 ({})", shape.nodes - 1),
         .found = std::to_string(options.ngram.corpus_drafts)});
  shape.steps = options.steps.value_or(std::max(1, shape.nodes / shape.topk));
  return shape;
}

// Chains, as long as texts can agree within a tree.
TreeShape suffix_shape(const DraftOptions& options) {
  if (options.topk && *options.topk != 1)
    log_warning("speculative_eagle_topk is set to 1 for SUFFIX, which drafts chains.");
  TreeShape shape{.steps = 0, .topk = 1, .nodes = 0};
  shape.nodes = options.nodes.value_or(std::min(options.suffix.max_depth + 1, kMaxTreeNodes));
  check_nodes(shape);
  shape.steps = shape.nodes - 1;
  return shape;
}

// Of a tree with these levels, root included; sizes beyond what can be verified are all the same.
int most_nodes(const TreeShape& shape) {
  return 1 +
         most_candidates(std::min(shape.steps, kMaxTreeNodes), std::min(shape.topk, kMaxTreeNodes));
}

}  // namespace

std::string algorithm_named(const std::string& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  const auto is_upper = [&](const char* known) { return upper == known; };
  if (upper == "NEXTN") return "EAGLE";
  if (upper.empty() || std::any_of(kSupported.begin(), kSupported.end(), is_upper)) return upper;
  if (std::any_of(kKnown.begin(), kKnown.end(), is_upper))
    throw Error({.what = "not supported yet: drafts by " + upper,
                 .where = "--speculative-algorithm",
                 .expected = fmt::format("{}", fmt::join(kSupported, " or ")),
                 .found = name});
  throw Error("Unknown speculative algorithm name: " + name);
}

bool runs_draft_model(const DraftOptions& options) {
  return !options.algorithm.empty() && options.algorithm != "NGRAM" &&
         options.algorithm != "SUFFIX";
}

SuffixOptions prediction_options(const DraftOptions& options) {
  constexpr std::int64_t kCapacity = std::int64_t{1} << 19;
  SuffixOptions suffix = options.suffix;
  suffix.only_predictions = true;
  suffix.max_answers = 0;
  suffix.capacity = std::min(suffix.capacity, kCapacity);
  suffix.most_drafts = kPredictionDrafts;
  return suffix;
}

TreeShape choose_tree_shape(const DraftOptions& options, const std::string& target_architecture) {
  if (options.algorithm == "NGRAM") return ngram_shape(options);
  if (options.algorithm == "SUFFIX") return suffix_shape(options);
  TreeShape shape = usual_shape(options.algorithm, target_architecture);
  if (!options.steps && !options.topk && !options.nodes) return shape;
  shape.steps = options.steps.value_or(shape.steps);
  shape.topk = options.topk.value_or(shape.topk);
  if (shape.topk == 1) {
    shape.nodes = shape.steps + 1;
    if (options.nodes && *options.nodes != shape.nodes)
      log_warning(
          "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when "
          "speculative_eagle_topk == 1");
  } else {
    const int usual =
        2 * std::min(shape.steps, kMaxTreeNodes) * std::min(shape.topk, kMaxTreeNodes);
    shape.nodes = options.nodes.value_or(std::min({usual, most_nodes(shape), kMaxTreeNodes}));
  }
  if (shape.topk > 1 && shape.nodes > most_nodes(shape))
    throw Error({.what = "more draft tokens are to be verified than the draft tree has",
                 .where = "--speculative-num-draft-tokens",
                 .expected = fmt::format("at most {} with --speculative-num-steps {} and "
                                         "--speculative-eagle-topk {}",
                                         most_nodes(shape), shape.steps, shape.topk),
                 .found = std::to_string(shape.nodes)});
  return shape;
}

}  // namespace foretoken
