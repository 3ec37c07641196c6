#include "backend/cpu/matmul/roof.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/seconds_since.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

double read_bandwidth(ThreadPool& pool, const KernelTable& kernels, const void* data,
                      std::size_t bytes) {
  constexpr std::size_t kChunk = std::size_t{256} << 10;
  const int chunks = std::max(1, static_cast<int>(bytes / kChunk));
  const auto chunk = static_cast<std::int64_t>(std::min(bytes, kChunk)) / 1024 * 1024;
  const auto start = Clock::now();
  pool.parallel_for(
      chunks, [&](int i, int) { kernels.read(static_cast<const char*>(data) + i * chunk, chunk); });
  return static_cast<double>(chunks) * static_cast<double>(chunk) / seconds_since(start);
}

double peak_flops(ThreadPool& pool, const GemmKernels& kernels, double seconds) {
  constexpr int kRounds = 10000;
  std::vector<double> done(static_cast<std::size_t>(pool.size()), 0.0);
  const auto start = Clock::now();
  pool.on_each_worker([&](int worker) {
    double flops = 0.0;
    while (seconds_since(start) < seconds) flops += kernels.peak(kRounds);
    done[static_cast<std::size_t>(worker)] = flops;
  });
  const double elapsed = seconds_since(start);
  double total = 0.0;
  for (const double flops : done) total += flops;
  return total / elapsed;
}

}  // namespace foretoken
