#pragma once
// What predictions are drafted with where SUFFIX is not asked for. Pure functions.

#include "draft/draft_options.h"
#include "draft/from_text/suffix/suffix_options.h"

namespace foretoken {

// Of a tree, root included; drafts of all trees together.
inline constexpr int kPredictionNodes = 33, kPredictionDrafts = 256;

SuffixOptions prediction_options(const DraftOptions& options);

}  // namespace foretoken
