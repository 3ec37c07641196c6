#include "draft/catalogue/draft_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/letters.h"
#include "base/log.h"
#include "batch/tree.h"

namespace foretoken {
namespace {

constexpr std::array kSupported{"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "SUFFIX"};
constexpr std::array kKnown{"DFLASH", "DSPARK"};

bool is_model(const std::string& algorithm) {
  return algorithm != "NGRAM" && algorithm != "SUFFIX";
}

// At every '+'; nothing of an empty name.
std::vector<std::string> split(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; !name.empty() && first <= name.size();) {
    const std::size_t end = std::min(name.find('+', first), name.size());
    parts.push_back(name.substr(first, end - first));
    first = end + 1;
  }
  return parts;
}

std::string one_algorithm_named(const std::string& name) {
  const std::string upper = drafter_named(name);
  const auto is_upper = [&](const char* known) { return upper == known; };
  if (std::any_of(kSupported.begin(), kSupported.end(), is_upper)) return upper;
  if (std::any_of(kKnown.begin(), kKnown.end(), is_upper))
    throw Error({.what = "not supported yet: drafts by " + upper,
                 .where = "--speculative-algorithm",
                 .expected = fmt::format("{}", fmt::join(kSupported, " or ")),
                 .found = name});
  throw Error("Unknown speculative algorithm name: " + name);
}

TreeShape usual_shape(const std::string& algorithm, const std::string& target_architecture) {
  constexpr std::array kBranching{"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"};
  if (algorithm != "STANDALONE" &&
      std::find(kBranching.begin(), kBranching.end(), target_architecture) != kBranching.end())
    return {.steps = 5, .topk = 4, .nodes = 8};
  return {.steps = 3, .topk = 1, .nodes = 4};
}

void check_nodes(int nodes) {
  if (nodes < 2 || nodes > kMaxTreeNodes)
    throw Error({.what = "a tree of this size cannot be verified",
                 .where = "--speculative-num-draft-tokens",
                 .expected = fmt::format("2 to {}", kMaxTreeNodes),
                 .found = std::to_string(nodes)});
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
  check_nodes(shape.nodes);
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
  check_nodes(shape.nodes);
  shape.steps = shape.nodes - 1;
  return shape;
}

// Of a tree with these levels, root included; sizes beyond what can be verified are all the same.
int most_nodes(const TreeShape& shape) {
  return 1 +
         most_candidates(std::min(shape.steps, kMaxTreeNodes), std::min(shape.topk, kMaxTreeNodes));
}

TreeShape model_shape(const std::string& name, const DraftOptions& options,
                      const std::string& target_architecture) {
  TreeShape shape = usual_shape(name, target_architecture);
  if (!options.steps && !options.topk && !options.nodes) return shape;
  shape.steps = options.steps.value_or(shape.steps);
  shape.topk = options.topk.value_or(shape.topk);
  if (shape.topk == 1) {
    shape.nodes = shape.steps + 1;
    if (options.nodes && *options.nodes != shape.nodes)
      log_warning(
          "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when "
          "speculative_eagle_topk == 1");
    return shape;
  }
  const int usual = 2 * std::min(shape.steps, kMaxTreeNodes) * std::min(shape.topk, kMaxTreeNodes);
  shape.nodes = options.nodes.value_or(std::min({usual, most_nodes(shape), kMaxTreeNodes}));
  check_nodes(shape.nodes);
  if (shape.nodes > most_nodes(shape))
    throw Error({.what = "more draft tokens are to be verified than the draft tree has",
                 .where = "--speculative-num-draft-tokens",
                 .expected = fmt::format("at most {} with --speculative-num-steps {} and "
                                         "--speculative-eagle-topk {}",
                                         most_nodes(shape), shape.steps, shape.topk),
                 .found = std::to_string(shape.nodes)});
  return shape;
}

TreeShape shape_alone(const std::string& name, const DraftOptions& options,
                      const std::string& target_architecture) {
  if (name == "NGRAM") return ngram_shape(options);
  if (name == "SUFFIX") return suffix_shape(options);
  return model_shape(name, options, target_architecture);
}

// Levels and children asked for are those of the model, the nodes those of all.
TreeShape shape_among_others(const std::string& name, const DraftOptions& options,
                             const std::string& target_architecture) {
  if (options.nodes) check_nodes(*options.nodes);
  DraftOptions own = options;
  if (!is_model(name)) {
    own.steps = own.topk = std::nullopt;
    return shape_alone(name, own, target_architecture);
  }
  own.nodes = std::nullopt;
  TreeShape shape = model_shape(name, own, target_architecture);
  if (options.nodes && shape.topk > 1) shape.nodes = std::min(*options.nodes, most_nodes(shape));
  return shape;
}

}  // namespace

std::string drafter_named(const std::string& name) {
  const std::string upper = upper_case(name);
  return upper == "NEXTN" ? "EAGLE" : upper;
}

std::string algorithm_named(const std::string& name) {
  if (upper_case(name) == "NONE") return {};
  std::vector<std::string> parts;
  std::string model;
  for (const std::string& part : split(name)) {
    if (part.empty())
      throw Error({.what = "an empty name among several",
                   .where = "--speculative-algorithm",
                   .found = name});
    const std::string canonical = one_algorithm_named(part);
    if (std::ranges::count(parts, canonical) > 0)
      throw Error({.what = canonical + " is named twice",
                   .where = "--speculative-algorithm",
                   .found = name});
    if (is_model(canonical) && !std::exchange(model, canonical).empty())
      throw Error({.what = "one drafter runs a model at most",
                   .where = "--speculative-algorithm",
                   .expected = "NGRAM or SUFFIX beside it",
                   .found = name});
    parts.push_back(canonical);
  }
  return fmt::format("{}", fmt::join(parts, "+"));
}

std::vector<std::string> algorithms_of(const DraftOptions& options) {
  return split(options.algorithm);
}

bool drafts_by(const DraftOptions& options, const std::string& algorithm) {
  return std::ranges::count(algorithms_of(options), algorithm) > 0;
}

std::string model_algorithm(const DraftOptions& options) {
  const auto parts = algorithms_of(options);
  const auto model = std::ranges::find_if(parts, is_model);
  return model == parts.end() ? std::string() : *model;
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

DraftPlan plan_drafts(const DraftOptions& options, const std::string& target_architecture) {
  DraftPlan plan;
  const auto names = algorithms_of(options);
  for (const std::string& name : names) {
    const TreeShape shape = names.size() == 1
                                ? shape_alone(name, options, target_architecture)
                                : shape_among_others(name, options, target_architecture);
    plan.parts.push_back({name, shape});
    if (is_model(name)) plan.model = shape;
    plan.shape.nodes = std::max(plan.shape.nodes, shape.nodes);
  }
  if (!plan.parts.empty()) {
    const TreeShape& told = plan.model.steps > 0 ? plan.model : plan.parts.front().shape;
    plan.shape.steps = told.steps;
    plan.shape.topk = told.topk;
  }
  if (options.serves_constraints)
    plan.parts.push_back(
        {kConstraints, {.steps = kConstraintNodes - 1, .topk = 1, .nodes = kConstraintNodes}});
  if (options.serves_predictions && !drafts_by(options, "SUFFIX"))
    plan.parts.push_back(
        {kPredictions, {.steps = kPredictionNodes - 1, .topk = 1, .nodes = kPredictionNodes}});
  return plan;
}

int DraftPlan::max_nodes() const {
  int most = 1;
  for (const DraftPart& part : parts) most = std::max(most, part.shape.nodes);
  return most;
}

std::int64_t DraftPlan::most_drafts(int num_slots) const {
  std::int64_t drafts = std::int64_t{num_slots} * (shape.nodes - 1);
  for (const DraftPart& part : parts) {
    if (part.name == kPredictions) drafts += kPredictionDrafts;
    if (part.name == kConstraints) drafts += kConstraintDrafts;
  }
  return drafts;
}

}  // namespace foretoken
