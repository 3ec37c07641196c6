#pragma once
// VulkanStates: layers that keep a state, on a device (backend/recurrent.h). What rows find and
// leave, state_program.h works out of the batch, once for all layers; shaders read it as lists.
//
//   inputs -- recur_mix --> convolved -- recur_norm --> q, k, v
//   dt ------ recur_decay -> dt, G
//   q, k, v, G -- recur_rows --> updates, out, states behind blocks
//   rows -- move_rows --> items and tails, which later steps read
//
// One thread at a time.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/forward_size.h"
#include "backend/kv_shape.h"
#include "backend/ops/step_ops.h"
#include "backend/vulkan/calls.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/state_program.h"
#include "batch/batch.h"

namespace foretoken {

class VulkanStates {
 public:
  VulkanStates(VulkanContext& context, GpuArena& scratch) : context_(context), scratch_(scratch) {}

  // A new frame of the recorder has begun: what was sent is gone.
  void forget() { known_.clear(); }

  // As StepOps has them. What recur() takes of the scratch is the caller's to release.
  void recur(const RecurrentRows& rows, const RecurrentWeights& weights, const Batch& batch,
             const StateLayer& states, const Tensor& out);
  void keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers);
  void copy(std::span<const StateCopy> copies, std::span<const KvLayer> layers);

  // Bytes of the scratch that recur() takes at most.
  static std::size_t workspace_bytes(const ForwardSize& size);

 private:
  struct SentMoves {
    Address from = 0, to = 0;
    std::int64_t count = 0;
  };
  // A program that shaders can read.
  struct Known {
    StateProgram program;
    Address tokens = 0, before = 0, seqs = 0, rows = 0, paths = 0;
    SentMoves tails[3], items;
  };
  struct Mixed {  // scratch of one call, by row of the batch
    Tensor channels, updates, dt, decays;
  };

  const Known& known(const Batch& batch, const StateLayer& states);
  SentMoves send(const RowMoves& moves);
  // Rows of `width`, `stride` apart where they come from.
  void move(const SentMoves& moves, Address from, std::int64_t stride, Address to,
            std::int64_t width);
  void mix(const Known& known, const RecurrentRows& rows, const RecurrentWeights& weights,
           const StateLayer& states, const Mixed& mixed, const Tensor& out);
  void walk_rows(const Known& known, const RecurrentRows& rows, const RecurrentWeights& weights,
                 const StateLayer& states, const Mixed& mixed, const Tensor& out);
  void leave(const Known& known, const RecurrentRows& rows, const StateLayer& states,
             const Mixed& mixed);

  VulkanContext& context_;
  GpuArena& scratch_;
  std::vector<std::unique_ptr<Known>> known_;
};

}  // namespace foretoken
