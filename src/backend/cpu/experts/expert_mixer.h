#pragma once
// ExpertMixer: StepOps::mix_experts on the CPU. Rows are sorted by expert, so that the weights of an
// expert are read once for all rows that use it; those of experts that no row uses are not read.
//
//   rows --> sorted by expert --> products with gate_up --> act --> products with down
//        --> added up, row by row, by rising number of the expert
//
// The bits of a row are those of a row alone: sorting moves rows, and products look at one row each.
// One caller at a time (the engine thread).

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/matmul/gemm.h"
#include "backend/cpu/table/op_kernels.h"
#include "backend/experts.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken {

class ExpertMixer {
 public:
  ExpertMixer(Gemm& gemm, const OpKernels& kernels, ThreadPool& pool)
      : gemm_(gemm), kernels_(kernels), pool_(pool) {}

  // As StepOps::mix_experts; shapes are checked.
  void run(std::span<const ExpertLinears> experts, Activation act, const Tensor& x,
           const Tensor& chosen, const Tensor& weights, const Tensor& out);

  // Memory kept between calls: what forwards of a size need at most, and what is held now.
  static std::size_t workspace_bytes(const ForwardSize& size);
  std::size_t workspace_bytes() const {
    return inputs_.bytes() + both_.bytes() + gated_.bytes() + outputs_.bytes();
  }

 private:
  void run_some(std::span<const ExpertLinears> experts, Activation act, const Tensor& x,
                const Tensor& chosen, const Tensor& weights, const Tensor& out);
  void sort_rows(std::span<const std::int32_t> chosen, std::size_t experts);

  Gemm& gemm_;
  const OpKernels& kernels_;
  ThreadPool& pool_;
  std::vector<int> begin_;  // [experts + 1] of each expert's rows among the sorted ones
  std::vector<int> place_;  // [rows * chosen] among the sorted ones
  std::vector<Gemm::Product> products_;
  Buffer inputs_, both_, gated_, outputs_;  // of the sorted rows
};

}  // namespace foretoken
