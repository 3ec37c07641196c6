#include "batch/row_loops.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "batch/lanes.h"
#include "batch/noise_words.h"

namespace foretoken {
namespace {

static_assert(RowLoops::kGroup == kLanes && RowLoops::kBlock == 64 * kLanes);

constexpr float kLargest = 1e30F;  // x - y and x + noise stay finite

[[gnu::always_inline]] inline std::uint32_t key_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x + 0.0F);
  return bits ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 0x80000000U);
}

// The loops themselves, inlined into a function for each instruction set.
namespace loops {

[[gnu::always_inline]] inline float clean(float x) {
  const float bounded = x < kLargest ? x : kLargest;
  const float value = bounded >= -kLargest ? bounded : kMinusInfinity;
  return x == x ? value : kMinusInfinity;
}

// Of sixteen, by halves: four steps where one after the other would be fifteen.
[[gnu::always_inline]] inline float greatest(float* lanes) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2)
    for (std::size_t l = 0; l < width; ++l)
      lanes[l] = lanes[l + width] > lanes[l] ? lanes[l + width] : lanes[l];
  return lanes[0];
}

[[gnu::always_inline]] inline float max(const float* x, std::size_t n) {
  float best[kLanes];
  for (float& lane : best) lane = kMinusInfinity;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) best[l] = x[i + l] > best[l] ? x[i + l] : best[l];
  for (; i < n; ++i) best[0] = x[i] > best[0] ? x[i] : best[0];
  return greatest(best);
}

// Divided by 1 a value is itself, and division is what a pass would wait for.
template <bool kDivides>
[[gnu::always_inline]] inline float clean_row(float* x, std::size_t n, float temperature,
                                              float* tops) {
  float most[kLanes];
  for (float& lane : most) lane = kMinusInfinity;
  std::size_t start = 0;
  for (; start + RowLoops::kTop <= n; start += RowLoops::kTop) {
    float best[kLanes];
    for (float& lane : best) lane = kMinusInfinity;
    for (std::size_t i = start; i < start + RowLoops::kTop; i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) {
        const float value = clean(kDivides ? x[i + l] / temperature : x[i + l]);
        x[i + l] = value;
        best[l] = value > best[l] ? value : best[l];
      }
    for (std::size_t l = 0; l < kLanes; ++l) most[l] = best[l] > most[l] ? best[l] : most[l];
    tops[start / RowLoops::kTop] = greatest(best);
  }
  float last = kMinusInfinity;
  for (std::size_t i = start; i < n; ++i) {
    x[i] = clean(kDivides ? x[i] / temperature : x[i]);
    last = x[i] > last ? x[i] : last;
  }
  if (start < n) tops[start / RowLoops::kTop] = last;
  const float whole = greatest(most);
  return last > whole ? last : whole;
}
[[gnu::always_inline]] inline float scale_and_clean(float* x, std::size_t n, float temperature,
                                                    float* tops) {
  return temperature == 1.0F ? clean_row<false>(x, n, temperature, tops)
                             : clean_row<true>(x, n, temperature, tops);
}

[[gnu::always_inline]] inline std::size_t first_equal(const float* x, std::size_t n, float value) {
  constexpr std::size_t kStride = 64;
  for (std::size_t start = 0; start < n; start += kStride) {
    const std::size_t end = start + kStride < n ? start + kStride : n;
    int any = 0;
    for (std::size_t i = start; i < end; ++i) any |= x[i] == value ? 1 : 0;
    if (any == 0) continue;
    for (std::size_t i = start; i < end; ++i)
      if (x[i] == value) return i;
  }
  return n;
}

[[gnu::always_inline]] inline double sum_exp(const float* x, std::size_t n, float max) {
  double total = 0.0;
  for (std::size_t start = 0; start < n; start += RowLoops::kBlock) {
    const std::size_t end = start + RowLoops::kBlock < n ? start + RowLoops::kBlock : n;
    float sum[kLanes] = {};
    std::size_t i = start;
    for (; i + kLanes <= end; i += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l) sum[l] += exp_nonpositive(x[i + l] - max);
    for (; i < end; ++i) sum[(i - start) % kLanes] += exp_nonpositive(x[i] - max);
    for (std::size_t width = kLanes / 2; width > 0; width /= 2)
      for (std::size_t l = 0; l < width; ++l) sum[l] += sum[l + width];
    total += static_cast<double>(sum[0]);
  }
  return total;
}

[[gnu::always_inline]] inline std::uint64_t weigh(const float* x, float floor, float max,
                                                  std::uint32_t* keys, float* weights) {
  constexpr std::size_t kStride = 4 * kLanes;
  const bool counts = std::isnan(max);
  std::uint64_t groups = 0;
  for (std::size_t stride = 0; stride < RowLoops::kBlock; stride += kStride) {
    float tops[kLanes];
    for (std::size_t l = 0; l < kLanes; ++l) tops[l] = x[stride + l];
    for (std::size_t start = stride + kLanes; start < stride + kStride; start += kLanes)
      for (std::size_t l = 0; l < kLanes; ++l)
        tops[l] = x[start + l] > tops[l] ? x[start + l] : tops[l];
    if (greatest(tops) < floor) continue;
    for (std::size_t start = stride; start < stride + kStride; start += kLanes) {
      for (std::size_t l = 0; l < kLanes; ++l) tops[l] = x[start + l];
      if (greatest(tops) < floor) continue;
      groups |= std::uint64_t{1} << (start / kLanes);
      for (std::size_t l = 0; l < kLanes; ++l) keys[start + l] = key_of(x[start + l]);
      if (counts)
        for (std::size_t l = 0; l < kLanes; ++l) weights[start + l] = 1.0F;
      else
        for (std::size_t l = 0; l < kLanes; ++l)
          weights[start + l] = exp_nonpositive(x[start + l] - max);
    }
  }
  return groups;
}

}  // namespace loops

// NOLINTBEGIN: the same functions for each instruction set.
#define FORETOKEN_ROW_LOOPS(NAME, ATTRIBUTE)                                                 \
  namespace NAME {                                                                           \
  ATTRIBUTE float scale_and_clean(float* x, std::size_t n, float temperature, float* tops) { \
    return loops::scale_and_clean(x, n, temperature, tops);                                  \
  }                                                                                          \
  ATTRIBUTE float max(const float* x, std::size_t n) { return loops::max(x, n); }            \
  ATTRIBUTE std::size_t first_equal(const float* x, std::size_t n, float value) {            \
    return loops::first_equal(x, n, value);                                                  \
  }                                                                                          \
  ATTRIBUTE double sum_exp(const float* x, std::size_t n, float max) {                       \
    return loops::sum_exp(x, n, max);                                                        \
  }                                                                                          \
  ATTRIBUTE std::uint64_t weigh(const float* x, float floor, float max, std::uint32_t* keys, \
                                float* weights) {                                            \
    return loops::weigh(x, floor, max, keys, weights);                                       \
  }                                                                                          \
  constexpr RowLoops kLoops{#NAME,   scale_and_clean,    max,  first_equal,                  \
                            sum_exp, noise_words_##NAME, weigh};                             \
  }

FORETOKEN_ROW_LOOPS(baseline, )
#if defined(__x86_64__)
FORETOKEN_ROW_LOOPS(avx2, __attribute__((target("avx2,fma"))))
FORETOKEN_ROW_LOOPS(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))))
#endif
#undef FORETOKEN_ROW_LOOPS
// NOLINTEND

std::vector<RowLoops> those_of_this_machine() {
  std::vector<RowLoops> all{baseline::kLoops};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(avx2::kLoops);
  if (all.size() == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    all.push_back(avx512::kLoops);
#endif
  return all;
}

}  // namespace

std::span<const RowLoops> all_row_loops() {
  static const std::vector<RowLoops> all = those_of_this_machine();
  return all;
}

namespace {

std::atomic<const RowLoops*>& chosen() {
  static std::atomic<const RowLoops*> loops = &all_row_loops().back();
  return loops;
}

}  // namespace

const RowLoops& row_loops() { return *chosen().load(std::memory_order_relaxed); }

void choose_row_loops(const RowLoops& loops) { chosen() = &loops; }

std::uint32_t order_key(float x) { return key_of(x); }

float value_of_key(std::uint32_t key) {
  return std::bit_cast<float>(key & 0x80000000U ? key ^ 0x80000000U : ~key);
}

}  // namespace foretoken
