#include "draft/shape_rules.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "batch/tree.h"

namespace foretoken {

void check_nodes(int nodes) {
  if (nodes < 2 || nodes > kMaxTreeNodes)
    throw Error({.what = "a tree of this size cannot be verified",
                 .where = "--speculative-num-draft-tokens",
                 .expected = fmt::format("2 to {}", kMaxTreeNodes),
                 .found = std::to_string(nodes)});
}

TreeShape chain_shape(const DraftOptions& options, std::string_view algorithm, int usual_nodes) {
  if (options.topk && *options.topk != 1)
    log_warning("speculative_eagle_topk is set to 1 for {}, which drafts chains.", algorithm);
  TreeShape shape{.steps = 0, .topk = 1, .nodes = 0};
  shape.nodes = options.nodes.value_or(std::min(usual_nodes, kMaxTreeNodes));
  check_nodes(shape.nodes);
  shape.steps = shape.nodes - 1;
  return shape;
}

}  // namespace foretoken
