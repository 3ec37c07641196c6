#include "draft/with_model/model_shape.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "batch/tree.h"
#include "draft/shape_rules.h"

namespace foretoken {
namespace {

constexpr TreeShape kUsualChain = {.steps = 3, .topk = 1, .nodes = 4};
constexpr TreeShape kUsualTree = {.steps = 5, .topk = 4, .nodes = 8};

// What was asked for, and of the usual shape what was not.
TreeShape fitted(TreeShape shape, const DraftOptions& options) {
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
  const int most = most_nodes(shape);
  shape.nodes = options.nodes.value_or(std::min({usual, most, kMaxTreeNodes}));
  check_nodes(shape.nodes);
  if (shape.nodes > most)
    throw Error({.what = "more draft tokens are to be verified than the draft tree has",
                 .where = "--speculative-num-draft-tokens",
                 .expected = fmt::format("at most {} with --speculative-num-steps {} and "
                                         "--speculative-eagle-topk {}",
                                         most, shape.steps, shape.topk),
                 .found = std::to_string(shape.nodes)});
  return shape;
}

}  // namespace

TreeShape head_shape(const DraftOptions& options, const std::string& target_architecture) {
  constexpr std::array kBranching{"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"};
  return fitted(std::ranges::count(kBranching, target_architecture) > 0 ? kUsualTree : kUsualChain,
                options);
}

TreeShape language_model_shape(const DraftOptions& options, const std::string&) {
  return fitted(kUsualChain, options);
}

}  // namespace foretoken
