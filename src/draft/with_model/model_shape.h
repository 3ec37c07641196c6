#pragma once
// The trees of algorithms that run a model: what SGLang chooses for a target where nothing is asked
// for, and how what is asked for fits together. Logs a warning where a wish is changed; throws Error
// for trees that cannot be.

#include <string>

#include "draft/draft_options.h"
#include "draft/tree_growth.h"

namespace foretoken {

// Of a head: trees for targets whose architecture SGLang grows trees for, else chains.
TreeShape head_shape(const DraftOptions& options, const std::string& target_architecture);
// Of a language model: chains.
TreeShape language_model_shape(const DraftOptions& options, const std::string& target_architecture);

}  // namespace foretoken
