#pragma once
// What the largest step takes, as upper bounds, so that memory can be shared out before anything
// runs: the rows that the scheduler may put into one, and the bytes that these need beside weights
// and KV. Pure functions.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/ops/step_ops.h"
#include "draft/tree_growth.h"
#include "engine/engine.h"
#include "model/config/model_config.h"
#include "model/draft_model.h"

namespace foretoken {

// Rows of a prompt whose next token is scored, in one step: each needs logits of the whole
// vocabulary.
inline constexpr int kScoredRows = 128;

// max_nodes: of a tree, root included. most_drafts: of all trees together.
std::int64_t most_step_rows(const EngineConfig& config, int max_nodes,
                            std::int64_t most_drafts = std::numeric_limits<int>::max());

struct StepModels {
  const ModelConfig& target;
  const DraftModel* draft = nullptr;                           // null: none
  TreeShape shape = {.nodes = 1};                              // of what it drafts
  int max_nodes = 1;                                           // of a tree, whoever drafts
  std::int64_t most_drafts = std::numeric_limits<int>::max();  // in a step
};
std::size_t most_step_bytes(const EngineConfig& config, const StepOps& ops,
                            const StepModels& models);

}  // namespace foretoken
