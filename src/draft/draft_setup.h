#pragma once
// DraftSetup: what drafters are made from: what was asked for, and what follows from it. Made once,
// when the target is known (set_up_drafts in catalogue/plan_drafts.h), and read-only from then on.
// Plain data.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "draft/draft_options.h"
#include "draft/tree_growth.h"

namespace foretoken {

struct Algorithm;
class Corpora;

// One of the drafters that share the trees.
struct DraftPart {
  const Algorithm* algorithm;
  TreeShape shape;  // of trees that it grows alone
};

// Who drafts, and the trees that they share.
struct DraftPlan {
  std::vector<DraftPart> parts;
  TreeShape shape = {.steps = 0, .topk = 0, .nodes = 1};  // of all that were asked for by name
  TreeShape model = {.steps = 0, .topk = 0, .nodes = 1};  // of what a model drafts

  int max_nodes() const;                          // of a tree, root included
  std::int64_t most_drafts(int num_slots) const;  // of all trees of a step together
};

struct DraftSetup {
  DraftOptions options;
  DraftPlan plan;
  // Where acceptance is simulated: by depth, that a draft is accepted. Empty: it is not.
  std::vector<float> simulated_chances = {};
  // The operator's own texts to draft from; null: nobody drafts from any.
  std::shared_ptr<Corpora> corpora = {};
  std::function<std::size_t()> available_memory_bytes = {};  // for the log; empty: not logged

  // How the draft model is loaded.
  ModelOptions load() const {
    ModelOptions load = options.load;
    load.available_memory_bytes = available_memory_bytes;
    return load;
  }
};

}  // namespace foretoken
