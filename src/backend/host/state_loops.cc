#include "backend/host/state_loops.h"

#include "batch/lanes.h"

namespace foretoken {
namespace {

// Sixteen floats, in as many registers as a target needs; and where they lie in memory.
using Lanes [[gnu::vector_size(64)]] = float;
using StoredLanes [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int kWidth = 16;

// The loops themselves, inlined into a function for each instruction set.
namespace loops {

[[gnu::always_inline]] inline const StoredLanes& lanes_at(const float* p) {
  return *reinterpret_cast<const StoredLanes*>(p);
}
[[gnu::always_inline]] inline StoredLanes& lanes_at(float* p) {
  return *reinterpret_cast<StoredLanes*>(p);
}

template <int Rows>
[[gnu::always_inline]] inline void read_rows(const float* state, int key_dim, int value_dim,
                                             const float* const* x, float* const* out) {
  int j = 0;
  for (; j + kWidth <= value_dim; j += kWidth) {
    Lanes sum[Rows] = {};
    for (int d = 0; d < key_dim; ++d) {
      const Lanes s = lanes_at(state + static_cast<std::int64_t>(d) * value_dim + j);
      for (int r = 0; r < Rows; ++r) sum[r] += x[r][d] * s;
    }
    for (int r = 0; r < Rows; ++r) lanes_at(out[r] + j) = sum[r];
  }
  for (; j < value_dim; ++j)
    for (int r = 0; r < Rows; ++r) {
      float sum = 0;
      for (int d = 0; d < key_dim; ++d)
        sum += x[r][d] * state[static_cast<std::int64_t>(d) * value_dim + j];
      out[r][j] = sum;
    }
}

[[gnu::always_inline]] inline void read(const float* state, int key_dim, int value_dim,
                                        const float* const* x, int rows, float* const* out) {
  int r = 0;
  for (; r + 4 <= rows; r += 4) read_rows<4>(state, key_dim, value_dim, x + r, out + r);
  for (; r + 2 <= rows; r += 2) read_rows<2>(state, key_dim, value_dim, x + r, out + r);
  if (r < rows) read_rows<1>(state, key_dim, value_dim, x + r, out + r);
}

[[gnu::always_inline]] inline float dot(const float* a, const float* b, int n) {
  Lanes sum = {};
  int i = 0;
  for (; i + kWidth <= n; i += kWidth) sum += lanes_at(a + i) * lanes_at(b + i);
  float lane[kWidth];
  lanes_at(lane) = sum;
  for (int l = 0; i < n; ++i, ++l) lane[l] += a[i] * b[i];
  for (int width = kWidth / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  return lane[0];
}

[[gnu::always_inline]] inline void add_scaled(float* y, const float* x, float factor, int n) {
  int i = 0;
  for (; i + kWidth <= n; i += kWidth) lanes_at(y + i) += factor * lanes_at(x + i);
  for (; i < n; ++i) y[i] += factor * x[i];
}

// Columns [j, j + Vectors * 16) of row d.
template <int Vectors>
[[gnu::always_inline]] inline void advance_columns(const StateLoops::Advance& c, int d, int j) {
  const std::int64_t at = static_cast<std::int64_t>(d) * c.value_dim + j;
  Lanes sum[Vectors] = {};
  if (c.from != nullptr)
    for (int v = 0; v < Vectors; ++v) sum[v] = c.decay * lanes_at(c.from + at + v * kWidth);
  for (int i = 0; i < c.items; ++i) {
    const float key = c.weights[i] * c.keys[i][d];
    for (int v = 0; v < Vectors; ++v) sum[v] += key * lanes_at(c.updates[i] + j + v * kWidth);
  }
  for (int v = 0; v < Vectors; ++v) lanes_at(c.to + at + v * kWidth) = sum[v];
}

[[gnu::always_inline]] inline void advance(const StateLoops::Advance& c) {
  for (int d = 0; d < c.key_dim; ++d) {
    int j = 0;
    for (; j + 4 * kWidth <= c.value_dim; j += 4 * kWidth) advance_columns<4>(c, d, j);
    for (; j + kWidth <= c.value_dim; j += kWidth) advance_columns<1>(c, d, j);
    for (; j < c.value_dim; ++j) {
      const std::int64_t at = static_cast<std::int64_t>(d) * c.value_dim + j;
      float sum = c.from == nullptr ? 0.0F : c.decay * c.from[at];
      for (int i = 0; i < c.items; ++i) sum += c.weights[i] * c.keys[i][d] * c.updates[i][j];
      c.to[at] = sum;
    }
  }
}

[[gnu::always_inline]] inline float sigmoid(float x) {
  const float e = exp_nonpositive(x < 0.0F ? x : -x);
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

[[gnu::always_inline]] inline void convolve(const StateLoops::Convolution& c, float* out) {
  for (int i = 0; i < c.channels; ++i) out[i] = c.bias == nullptr ? 0.0F : c.bias[i];
  for (int t = 0; t < c.taps; ++t) {
    const float* input = c.inputs[t];
    if (input == nullptr) continue;
    const float* weight = c.weights + static_cast<std::int64_t>(t) * c.channels;
    for (int i = 0; i < c.channels; ++i) out[i] += weight[i] * input[i];
  }
  if (!c.has_silu) return;
  for (int i = 0; i < c.channels; ++i) out[i] *= sigmoid(out[i]);
}

template <GateCurve kCurve>
[[gnu::always_inline]] inline void gate(float* x, const float* gate, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gate[i];
    if constexpr (kCurve == GateCurve::kSigmoid) x[i] *= sigmoid(g);
    if constexpr (kCurve == GateCurve::kSilu) x[i] *= g * sigmoid(g);
    if constexpr (kCurve == GateCurve::kNone) x[i] *= g;
  }
}

}  // namespace loops

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function for each instruction set, of one source.
#define FORETOKEN_STATE_LOOPS(NAME, ATTRIBUTE)                                                  \
  namespace NAME {                                                                              \
  ATTRIBUTE void read(const float* state, int key_dim, int value_dim, const float* const* x,    \
                      int rows, float* const* out) {                                            \
    loops::read(state, key_dim, value_dim, x, rows, out);                                       \
  }                                                                                             \
  ATTRIBUTE float dot(const float* a, const float* b, int n) { return loops::dot(a, b, n); }    \
  ATTRIBUTE void add_scaled(float* y, const float* x, float factor, int n) {                    \
    loops::add_scaled(y, x, factor, n);                                                         \
  }                                                                                             \
  ATTRIBUTE void advance(const StateLoops::Advance& call) { loops::advance(call); }             \
  ATTRIBUTE void convolve(const StateLoops::Convolution& call, float* out) {                    \
    loops::convolve(call, out);                                                                 \
  }                                                                                             \
  ATTRIBUTE void sigmoid(float* x, const float* gate, std::int64_t n) {                         \
    loops::gate<GateCurve::kSigmoid>(x, gate, n);                                               \
  }                                                                                             \
  ATTRIBUTE void silu(float* x, const float* gate, std::int64_t n) {                            \
    loops::gate<GateCurve::kSilu>(x, gate, n);                                                  \
  }                                                                                             \
  ATTRIBUTE void none(float* x, const float* gate, std::int64_t n) {                            \
    loops::gate<GateCurve::kNone>(x, gate, n);                                                  \
  }                                                                                             \
  constexpr StateLoops kLoops{read, dot, add_scaled, advance, convolve, {sigmoid, silu, none}}; \
  }

FORETOKEN_STATE_LOOPS(baseline, )
#if defined(__x86_64__)
FORETOKEN_STATE_LOOPS(avx2, __attribute__((target("avx2"))))
FORETOKEN_STATE_LOOPS(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2"))))
#endif
#undef FORETOKEN_STATE_LOOPS
// NOLINTEND

const StateLoops& widest() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) return baseline::kLoops;
  const bool is_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return is_512 ? avx512::kLoops : avx2::kLoops;
#else
  return baseline::kLoops;
#endif
}

}  // namespace

const StateLoops& state_loops() {
  static const StateLoops& loops = widest();
  return loops;
}

}  // namespace foretoken
