#pragma once
// stacked_experts: a checkpoint that keeps the matrices of all experts of a layer in one tensor, as
// one that keeps each under a name of its own. What is made of a tensor lives until its name is
// released. Loading threads only.
//
// ExpertStacks::kTurned:
//   experts.gate_up_proj         [experts, in, 2 * width]      floats: columns in turns of gate and up
//   experts.gate_up_proj_blocks  [experts, 2 * width, in / 32, 16]   MXFP4: rows in turns
//   experts.gate_up_proj_scales  [experts, 2 * width, in / 32]
//   experts.gate_up_proj_bias    [experts, 2 * width]
//
//   and down_proj with [experts, width, out], [experts, out, ..]
//
// ExpertStacks::kColumns: the same of floats, with columns of gate, then of up. kColumnsOrRows:
// these, or kRows where the dimensions are those of rows.
//
// ExpertStacks::kRows:
//   experts.gate_up_proj         [experts, 2 * width, in]      floats: rows of gate, then of up
//   experts.down_proj            [experts, out, width]
//
// become experts.<number>.gate_proj.weight [width, in], .bias [width], and so on: floats, or the
// blocks of MXFP4 as GGUF files have them. Of kRows gate and up stay one matrix, gate_up_proj.

#include <memory>

#include "checkpoint/checkpoint.h"
#include "model/config/expert_blocks.h"

namespace foretoken {

// Those of kNone are what they were.
std::unique_ptr<WeightSource> stacked_experts(std::unique_ptr<WeightSource> source,
                                              ExpertStacks stacks);

}  // namespace foretoken
