#pragma once
// StepOps::recur and what goes with it, for the backends that run on the host: rows through the
// convolution and the state, what they leave behind, and which of it stays. The arithmetic is
// defined in backend/recurrent.h. Not an Ops: no state of its own. Called by the engine thread;
// the work is spread over the pool.

#include <span>

#include "backend/host/host_step.h"
#include "backend/ops/step_ops.h"
#include "base/threads.h"

namespace foretoken {

// LoadOps::alloc_kv of a layer that keeps a state, and the bytes of all of them.
StateLayer alloc_states(const AllocZeros& alloc, const KvShape& shape);
std::size_t host_state_bytes(const KvShape& shape);

// Bug check: the arguments of StepOps::recur fit together.
void expect_recurrent(const RecurrentRows& rows, const StateLayer& states, const Tensor& out);

// StepOps::recur. Scratch comes from ops.temp.
void recur_host_rows(StepOps& ops, ThreadPool& pool, const RecurrentRows& rows,
                     const RecurrentWeights& weights, const Batch& batch, const StateLayer& states,
                     const Tensor& out);

// The part of StepOps::kv_keep for layers that keep a state: items of accepted nodes move behind
// those of the block, and a block that they complete becomes a state.
void keep_states(ThreadPool& pool, const Walk& walk, const Batch& batch,
                 std::span<const KvLayer> layers);

// StepOps::copy_states.
void copy_host_states(ThreadPool& pool, std::span<const StateCopy> copies,
                      std::span<const KvLayer> layers);

// StepOps::gate.
void gate_host_rows(ThreadPool& pool, const Tensor& x, const Tensor& gate, GateCurve curve);

}  // namespace foretoken
