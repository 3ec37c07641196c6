#include "backend/host/state_loops.h"

#include "batch/lanes.h"

namespace foretoken {
namespace {

// Sixteen floats, in as many registers as a target needs; and where they lie in memory.
using Lanes [[gnu::vector_size(64)]] = float;
using StoredLanes [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int kWidth = 16;

// Of loops over arrays that are to become registers.
#define FT_EACH _Pragma("GCC unroll 8")

// The loops themselves, inlined into a function for each instruction set.
namespace loops {

[[gnu::always_inline]] inline const StoredLanes& lanes_at(const float* p) {
  return *reinterpret_cast<const StoredLanes*>(p);
}
[[gnu::always_inline]] inline StoredLanes& lanes_at(float* p) {
  return *reinterpret_cast<StoredLanes*>(p);
}

// Columns [j, j + Vectors * 16) of the products of some rows.
template <int Rows, int Vectors>
[[gnu::always_inline]] inline void read_columns(const float* state, int key_dim, int value_dim,
                                                const float* const* x, float* const* out, int j) {
  Lanes sum[Rows][Vectors] = {};
  for (int d = 0; d < key_dim; ++d) {
    const float* const row = state + static_cast<std::int64_t>(d) * value_dim + j;
    FT_EACH for (int v = 0; v < Vectors; ++v) {
      const Lanes s = lanes_at(row + v * kWidth);
      FT_EACH for (int r = 0; r < Rows; ++r) sum[r][v] += x[r][d] * s;
    }
  }
  FT_EACH for (int r = 0; r < Rows; ++r) FT_EACH for (int v = 0; v < Vectors; ++v)
      lanes_at(out[r] + j + v * kWidth) = sum[r][v];
}

// Few rows take many columns at once, so that sums of either do not wait for each other. Rows meet
// a panel of the state while it is near.
[[gnu::always_inline]] inline void read(const float* state, int key_dim, int value_dim,
                                        const float* const* x, int rows, float* const* out) {
  const int last = value_dim / (4 * kWidth) * (4 * kWidth);
  for (int j = 0; j < last; j += 4 * kWidth) {
    int r = 0;
    for (; r + 4 <= rows; r += 4)
      for (int v = 0; v < 4; ++v)
        read_columns<4, 1>(state, key_dim, value_dim, x + r, out + r, j + v * kWidth);
    for (; r + 2 <= rows; r += 2) {
      read_columns<2, 2>(state, key_dim, value_dim, x + r, out + r, j);
      read_columns<2, 2>(state, key_dim, value_dim, x + r, out + r, j + 2 * kWidth);
    }
    if (r < rows) read_columns<1, 4>(state, key_dim, value_dim, x + r, out + r, j);
  }
  int j = last;
  for (; j + kWidth <= value_dim; j += kWidth)
    for (int r = 0; r < rows; ++r) read_columns<1, 1>(state, key_dim, value_dim, x + r, out + r, j);
  for (; j < value_dim; ++j)
    for (int r = 0; r < rows; ++r) {
      float sum = 0;
      for (int d = 0; d < key_dim; ++d)
        sum += x[r][d] * state[static_cast<std::int64_t>(d) * value_dim + j];
      out[r][j] = sum;
    }
}

[[gnu::always_inline]] inline float dot(const float* a, const float* b, int n) {
  Lanes sum = {};
  int i = 0;
  for (; i + kWidth <= n; i += kWidth) sum += lanes_at(a + i) * lanes_at(b + i);
  float lane[kWidth];
  lanes_at(lane) = sum;
  for (int l = 0; i < n; ++i, ++l) lane[l] += a[i] * b[i];
  FT_EACH for (int l = 0; l < 8; ++l) lane[l] += lane[l + 8];
  FT_EACH for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
  return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

[[gnu::always_inline]] inline void dots(const float* x, const float* const* rows, int count, int n,
                                        float* out) {
  for (int i = 0; i < count; ++i) out[i] = dot(x, rows[i], n);
}

[[gnu::always_inline]] inline void scale(float* y, const float* x, float factor, int n) {
  int i = 0;
  for (; i + kWidth <= n; i += kWidth) lanes_at(y + i) = factor * lanes_at(x + i);
  for (; i < n; ++i) y[i] = factor * x[i];
}

template <int Vectors>
[[gnu::always_inline]] inline void add_columns(float* y, const float* const* rows,
                                               const float* factors, int count, int j) {
  Lanes sum[Vectors];
  FT_EACH for (int v = 0; v < Vectors; ++v) sum[v] = lanes_at(y + j + v * kWidth);
  for (int i = 0; i < count; ++i)
    FT_EACH for (int v = 0; v < Vectors; ++v) sum[v] +=
        factors[i] * lanes_at(rows[i] + j + v * kWidth);
  FT_EACH for (int v = 0; v < Vectors; ++v) lanes_at(y + j + v * kWidth) = sum[v];
}

[[gnu::always_inline]] inline void add_scaled(float* y, const float* const* rows,
                                              const float* factors, int count, int n) {
  int j = 0;
  for (; j + 4 * kWidth <= n; j += 4 * kWidth) add_columns<4>(y, rows, factors, count, j);
  for (; j + kWidth <= n; j += kWidth) add_columns<1>(y, rows, factors, count, j);
  for (; j < n; ++j)
    for (int i = 0; i < count; ++i) y[j] += factors[i] * rows[i][j];
}

// Sixteen columns of `Rows` rows of a state.
template <int Rows>
[[gnu::always_inline]] inline void advance_rows(const StateLoops::Advance& c, int d, int j) {
  const std::int64_t at = static_cast<std::int64_t>(d) * c.value_dim + j;
  Lanes sum[Rows] = {};
  if (c.from != nullptr)
    FT_EACH for (int r = 0; r < Rows; ++r) sum[r] =
        c.decay * lanes_at(c.from + at + static_cast<std::int64_t>(r) * c.value_dim);
  for (int i = 0; i < c.items; ++i) {
    const Lanes update = lanes_at(c.updates[i] + j);
    FT_EACH for (int r = 0; r < Rows; ++r) sum[r] += c.keys[i][d + r] * update;
  }
  FT_EACH for (int r = 0; r < Rows; ++r)
      lanes_at(c.to + at + static_cast<std::int64_t>(r) * c.value_dim) = sum[r];
}

[[gnu::always_inline]] inline void advance(const StateLoops::Advance& c) {
  int j = 0;
  for (; j + kWidth <= c.value_dim; j += kWidth) {
    int d = 0;
    for (; d + 4 <= c.key_dim; d += 4) advance_rows<4>(c, d, j);
    for (; d < c.key_dim; ++d) advance_rows<1>(c, d, j);
  }
  for (; j < c.value_dim; ++j)
    for (int d = 0; d < c.key_dim; ++d) {
      const std::int64_t at = static_cast<std::int64_t>(d) * c.value_dim + j;
      float sum = c.from == nullptr ? 0.0F : c.decay * c.from[at];
      for (int i = 0; i < c.items; ++i) sum += c.keys[i][d] * c.updates[i][j];
      c.to[at] = sum;
    }
}

[[gnu::always_inline]] inline float sigmoid(float x) {
  const float e = exp_nonpositive(x < 0.0F ? x : -x);
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

[[gnu::always_inline]] inline void decays(const float* before, int count, float now, float* out) {
  int i = 0;
  for (; i + kWidth <= count; i += kWidth)
    for (int l = 0; l < kWidth; ++l) out[i + l] = exp_nonpositive(now - before[i + l]);
  for (; i < count; ++i) out[i] = exp_nonpositive(now - before[i]);
}

// Sixteen channels of a convolution, before silu.
[[gnu::always_inline]] inline void convolve_lanes(const StateLoops::Convolution& c, int i,
                                                  float* out) {
  Lanes sum = {};
  if (c.bias != nullptr) sum = lanes_at(c.bias + i);
  for (int t = 0; t < c.taps; ++t)
    if (c.inputs[t] != nullptr)
      sum += lanes_at(c.weights + static_cast<std::int64_t>(t) * c.channels + i) *
             lanes_at(c.inputs[t] + i);
  lanes_at(out) = sum;
}

[[gnu::always_inline]] inline void convolve(const StateLoops::Convolution& c, float* out) {
  int i = 0;
  for (; i + kWidth <= c.channels; i += kWidth) {
    float sum[kWidth];
    convolve_lanes(c, i, sum);
    if (c.has_silu)
      for (int l = 0; l < kWidth; ++l) sum[l] *= sigmoid(sum[l]);
    lanes_at(out + i) = lanes_at(sum);
  }
  for (; i < c.channels; ++i) {
    float sum = c.bias == nullptr ? 0.0F : c.bias[i];
    for (int t = 0; t < c.taps; ++t)
      if (c.inputs[t] != nullptr)
        sum += c.weights[static_cast<std::int64_t>(t) * c.channels + i] * c.inputs[t][i];
    out[i] = c.has_silu ? sum * sigmoid(sum) : sum;
  }
}

template <GateCurve kCurve>
[[gnu::always_inline]] inline float gated(float x, float g) {
  if constexpr (kCurve == GateCurve::kSigmoid) return x * sigmoid(g);
  if constexpr (kCurve == GateCurve::kSilu) return x * (g * sigmoid(g));
  return x * g;
}

template <GateCurve kCurve>
[[gnu::always_inline]] inline void gate(float* x, const float* gate, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    float lane[kWidth];
    for (int l = 0; l < kWidth; ++l) lane[l] = gated<kCurve>(x[i + l], gate[i + l]);
    lanes_at(x + i) = lanes_at(lane);
  }
  for (; i < n; ++i) x[i] = gated<kCurve>(x[i], gate[i]);
}

}  // namespace loops

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function for each instruction set, of one source.
#define FORETOKEN_STATE_LOOPS(NAME, ATTRIBUTE)                                                   \
  namespace NAME {                                                                               \
  ATTRIBUTE void read(const float* state, int key_dim, int value_dim, const float* const* x,     \
                      int rows, float* const* out) {                                             \
    loops::read(state, key_dim, value_dim, x, rows, out);                                        \
  }                                                                                              \
  ATTRIBUTE float dot(const float* a, const float* b, int n) { return loops::dot(a, b, n); }     \
  ATTRIBUTE void dots(const float* x, const float* const* rows, int count, int n, float* out) {  \
    loops::dots(x, rows, count, n, out);                                                         \
  }                                                                                              \
  ATTRIBUTE void decays(const float* before, int count, float now, float* out) {                 \
    loops::decays(before, count, now, out);                                                      \
  }                                                                                              \
  ATTRIBUTE void scale(float* y, const float* x, float factor, int n) {                          \
    loops::scale(y, x, factor, n);                                                               \
  }                                                                                              \
  ATTRIBUTE void add_scaled(float* y, const float* const* rows, const float* factors, int count, \
                            int n) {                                                             \
    loops::add_scaled(y, rows, factors, count, n);                                               \
  }                                                                                              \
  ATTRIBUTE void advance(const StateLoops::Advance& call) { loops::advance(call); }              \
  ATTRIBUTE void convolve(const StateLoops::Convolution& call, float* out) {                     \
    loops::convolve(call, out);                                                                  \
  }                                                                                              \
  ATTRIBUTE void sigmoid(float* x, const float* gate, std::int64_t n) {                          \
    loops::gate<GateCurve::kSigmoid>(x, gate, n);                                                \
  }                                                                                              \
  ATTRIBUTE void silu(float* x, const float* gate, std::int64_t n) {                             \
    loops::gate<GateCurve::kSilu>(x, gate, n);                                                   \
  }                                                                                              \
  ATTRIBUTE void none(float* x, const float* gate, std::int64_t n) {                             \
    loops::gate<GateCurve::kNone>(x, gate, n);                                                   \
  }                                                                                              \
  constexpr StateLoops kLoops{                                                                   \
      read, dot, dots, decays, scale, add_scaled, advance, convolve, {sigmoid, silu, none}};     \
  }

FORETOKEN_STATE_LOOPS(baseline, )
#if defined(__x86_64__)
FORETOKEN_STATE_LOOPS(avx2, __attribute__((target("avx2"))))
FORETOKEN_STATE_LOOPS(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2"))))
#endif
#undef FORETOKEN_STATE_LOOPS
#undef FT_EACH
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
