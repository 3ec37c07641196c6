#pragma once
// Rules for the shapes of trees that several algorithms share. Logs a warning where a wish is
// changed; throws Error for trees that cannot be.

#include <string_view>

#include "draft/draft_options.h"
#include "draft/tree_growth.h"

namespace foretoken {

// Throws Error unless a tree of `nodes` nodes, root included, can be verified.
void check_nodes(int nodes);

// Of an algorithm that drafts chains of as many nodes as are asked for, or of the usual number.
TreeShape chain_shape(const DraftOptions& options, std::string_view algorithm, int usual_nodes);

}  // namespace foretoken
