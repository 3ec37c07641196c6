#pragma once
// Backends that are wrong on purpose: what the matrix must notice.

#include <memory>

#include "backend/ops.h"

namespace foretoken {

// A linear that splits K in two sums when it has more than one row, as kernels that pick their
// schedule by the number of rows do. Weights without biases only.
std::unique_ptr<Ops> split_k_by_rows(std::unique_ptr<Ops> inner);

// Leaves the KV of accepted nodes where it was.
std::unique_ptr<Ops> keep_nothing(std::unique_ptr<Ops> inner);

// A text that goes on from a snapshot finds what its slot held before.
std::unique_ptr<Ops> copy_no_states(std::unique_ptr<Ops> inner);

}  // namespace foretoken
