#pragma once
// Ops: everything that a model, a step and the engine ask of a machine, as coarse virtual
// operations. One implementation per kind of machine. Three interfaces in one object:
//
//   ops/load_ops.h    LoadOps     weights, tables and KV, before the first step
//   ops/step_ops.h    StepOps     the arithmetic of forwards, and the scratch of a step
//   ops/result_ops.h  ResultOps   what the host reads of a step
//
// Take the narrowest one that serves; take Ops to wire parts together.
//
// What it is not: a graph, an autograd, shape inference. Models are straight-line code over
// operations and Tensor views.
//
// Types
//   activations     float32 [rows, width]
//   weights         bf16, fp16 or float32, chosen at load, or codes of fewer bits
//                   (weight_format.h: also what a product of codes does to its input)
//   keys, values    the same floats, or codes of 8 bits (kv_codes.h)
//   A linear of bf16 weights rounds its input to bf16 once and adds up in the backend's order.
// Bits
//   The results of a row depend on its own sequence only. They are bitwise independent of the
//   other rows of the batch, thread count, chunking and (within a numeric order) instruction set.
// Threads
//   One thread at a time, that which computes steps.
// Order
//   Operations may be queued; they are done in the order of the calls. ResultOps::read_back is the
//   only call of a step that waits.
// Memory
//   Arguments passed by reference have been taken when a call returns, so they may change.
//   Memory of the backend (alloc, alloc_kv, keep_rows, temp) is touched by operations only:
//   upload() leads in, ResultOps leads out.
// Errors
//   Once weights are packed, a call throws only where the system has no memory for it (Error,
//   std::bad_alloc). What the step has computed is then lost; the next layout() starts anew.

#include <cstddef>
#include <string>

#include "backend/measured_speed.h"
#include "backend/ops/load_ops.h"
#include "backend/ops/result_ops.h"
#include "backend/ops/step_ops.h"

namespace foretoken {

// Memory for weights, KV and steps, where that is not the host's.
struct MemoryRoom {
  std::size_t total_bytes = 0;      // 0: it is the host's
  std::size_t available_bytes = 0;  // of them, not in use by anybody
};

class Ops : public LoadOps, public StepOps, public ResultOps {
 public:
  // For the log: "cpu avx512_bf16, pair order, 4 threads".
  virtual std::string description() const = 0;

  virtual MemoryRoom memory_room() const { return {}; }

  // Called once by the thread that will compute steps, before the first one: places it.
  virtual void adopt_thread() {}

  // Measures for about 0.2 s, reading `memory`. Machines are shared: measure beside what is
  // compared.
  virtual Roof measure_roof(const Tensor& memory) {
    (void)memory;
    return {};
  }
};

}  // namespace foretoken
