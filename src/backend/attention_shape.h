#pragma once
// How rows attend in a layer, and the plan of a batch for all layers of one shape. Plain data;
// backends derive their plans.

#include <algorithm>

namespace foretoken {

struct Batch;

struct AttentionShape {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  // > 0: the value of a token is the first value_dim elements of its key, and only the key is
  // stored (latent attention). 0: values have head_dim elements of their own.
  int value_dim = 0;
  float scale = 0.0F;      // of q.k
  int window = 0;          // > 0: a row at position p sees positions p - window + 1 .. p
  int chunk = 0;           // > 0: it sees those of its own chunk: p - p % chunk .. p
  float score_cap = 0.0F;  // > 0: a scaled score s counts as cap * tanh(s / cap)

  bool has_stored_values() const { return value_dim == 0; }
  // The first position that a row at this one sees.
  int first_seen(int position) const {
    const int of_window = window > 0 ? std::max(0, position - window + 1) : 0;
    return chunk > 0 ? std::max(of_window, position - position % chunk) : of_window;
  }
  int out_dim() const { return has_stored_values() ? head_dim : value_dim; }  // of a head's result

  bool operator==(const AttentionShape&) const = default;
};

// What a batch looks at in layers of one shape, worked out once for all of them. Backends add what
// their kernels want to know. Made by StepOps::plan_attention; the batch is the caller's.
struct AttentionPlan {
  virtual ~AttentionPlan() = default;
  AttentionShape shape;
  const Batch* batch = nullptr;
};

}  // namespace foretoken
