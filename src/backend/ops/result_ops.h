#pragma once
// ResultOps: what a step finds for the host to read: candidates of drafts, and the walk. Each
// operation writes to an object of the host's, whose values are there once read_back() has returned
// and not before. The object stays where it is until then. The rules of ops.h hold: threads,
// errors, memory.

#include <cstdint>
#include <span>
#include <vector>

#include "backend/found_tokens.h"
#include "batch/batch.h"
#include "batch/tree.h"
#include "tensor/tensor.h"

namespace foretoken {

class ResultOps {
 public:
  virtual ~ResultOps() = default;

  // Waits for all operations called so far. The only call of a step that waits.
  virtual void read_back() = 0;

  // The k most probable entries of each row of logits [rows, vocab] f32; equal ones: the lowest id
  // first. For drafts, not for sampling: the probabilities are good to about 1e-6.
  virtual void top_tokens(Tensor logits, int k, TopTokens& out) = 0;

  // Draws k candidates from each of some rows of logits [rows, n] f32. Column i is the target's
  // token ids[i], or nothing where that is kNoToken; without ids it is token i. vocab: above all of
  // them.
  virtual void draw_tokens(Tensor logits, std::span<const Token> ids, std::int64_t vocab,
                           std::span<const DrawRow> rows, int k, DrawnTokens& out) = 0;

  // out = rows of x [., width] f32, one behind the other.
  virtual void read_rows(Tensor x, std::span<const std::int32_t> rows, std::vector<float>& out) = 0;

  // Samples and walks every tree of the plan. logits [batch.logit_rows.size(), vocab] f32,
  // modified. Plan and trees, what the plan points to, and the logits stay as they are until
  // read_back().
  virtual void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch,
                      Tensor logits, Walk& walk) = 0;
};

}  // namespace foretoken
