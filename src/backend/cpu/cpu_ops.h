#pragma once
// The CPU backend: Ops over one kernel table, chosen once at start. Results are a function of the
// numeric order alone, not of the instruction set, the number of threads or the batch; it divides
// work over outputs, rows, heads and spans of positions, never over a sum. Small operations run on
// the calling thread. Same threads and lifetimes as Ops.

#include <memory>

#include "backend/cpu/table/isa.h"
#include "backend/ops.h"
#include "base/threads.h"

namespace foretoken {

// The machine must have the instruction set (select_isa).
std::unique_ptr<Ops> make_cpu_backend(Isa isa, GemmOrder order, ThreadPool& pool);

}  // namespace foretoken
