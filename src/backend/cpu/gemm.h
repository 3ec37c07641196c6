#pragma once
// Gemm: y = x * W^T + bias on the thread pool, with the kernels of one instruction set in one order
// of addition. Bits of a row depend on that row and the weights only: work is divided over columns
// and rows, never over K.
// One caller at a time (the engine thread).

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/packed_linear.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken {

// The kernel table of an instruction set that this machine has. Dot-product instructions are
// adopted only if they reproduce the order of addition they stand for (kernel_check.h).
KernelTable select_kernels(Isa isa);

class Gemm {
 public:
  Gemm(const KernelTable& kernels, GemmOrder order, ThreadPool& pool);

  // y [rows, w.out_width] f32 = x [rows, w.in_width] f32 * w^T + bias. Where w is bf16, x is
  // rounded to bf16 first.
  void run(const CpuLinear& w, const float* x, int rows, float* y);

 private:
  // Where the kernel reads x: `x` itself or its packed copy.
  struct PackedX {
    const char* data;
    std::int64_t stride;  // elements
  };
  const GemmKernels& kernels_for(DType dtype) const;
  PackedX pack_x(const GemmKernels& kernels, const CpuLinear& w, const float* x, int rows);

  KernelTable kernels_;
  GemmOrder order_;
  ThreadPool& pool_;
  Buffer packed_x_;
};

}  // namespace foretoken
