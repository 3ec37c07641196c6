#pragma once
// Roofs: how fast this machine, right now, reads memory and multiplies. Benchmarks take them beside
// what they measure, because shared machines change by a factor of two within minutes.
// Not constants of a machine, and nothing here steers the kernels.

#include <cstddef>

#include "backend/cpu/table/kernels.h"
#include "base/threads.h"

namespace foretoken {

// Bytes per second of one pass of all workers over `data`; of interest well beyond the caches.
double read_bandwidth(ThreadPool& pool, const KernelTable& kernels, const void* data,
                      std::size_t bytes);

// FLOP per second of the GEMM's own instruction on all workers, on registers alone, over about
// `seconds`.
double peak_flops(ThreadPool& pool, const GemmKernels& kernels, double seconds = 0.05);

}  // namespace foretoken
