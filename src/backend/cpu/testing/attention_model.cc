// The definition of attention over KV of bf16. Its power of 2 and its tree of sums are those of the
// kernels, which v16_test.cc holds to account; everything else is plain numbers.
#define FT_V16_SCALAR
#include "backend/cpu/testing/attention_model.h"

#include "backend/cpu/simd/curves.h"
#include "backend/cpu/simd/v16.h"
#include "backend/cpu/table/op_kernels.h"

namespace foretoken {
namespace {

constexpr int kMostDims = 256;

float wide(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}
template <int Degree>
float exp2(float x) {
  return exp2_not_above_zero<Degree>(set1(x)).v[0];
}
float rounded(float x) { return round_bf16(set1(x)).v[0]; }

// Products of some terms in order; what is not there is 0.
class Sum {
 public:
  explicit Sum(bool pair_order) : pair_order_(pair_order) {}
  // a[i] * b[i] for 32 numbers.
  void add_block(const float* a, const float* b) {
    if (pair_order_) {
      for (int i = 0; i < 32; i += 2) {
        value_ = __builtin_fmaf(a[i + 1], b[i + 1], value_);
        value_ = __builtin_fmaf(a[i], b[i], value_);
      }
      return;
    }
    float even = 0, odd = 0;
    for (int i = 0; i < 32; i += 2) {
      even = __builtin_fmaf(a[i], b[i], even);
      odd = __builtin_fmaf(a[i + 1], b[i + 1], odd);
    }
    value_ = value_ + (even + odd);
  }
  float value() const { return value_; }

 private:
  bool pair_order_;
  float value_ = 0;
};

struct State {
  float m = 0, l = 0;
  float o[kMostDims] = {};
};

void join(State& to, const State& more, int dim) {
  if (more.l == 0) return;
  if (to.l == 0) {
    to = more;
    return;
  }
  const float top = to.m > more.m ? to.m : more.m;
  const float a = exp2<5>(to.m - top), b = exp2<5>(more.m - top);
  to.m = top;
  to.l = __builtin_fmaf(to.l, a, more.l * b);
  for (int d = 0; d < dim; ++d) to.o[d] = __builtin_fmaf(to.o[d], a, more.o[d] * b);
}

float score(const ModelQuery& query, int position) {
  Sum sum(query.pair_order);
  for (int d = 0; d < query.head_dim; d += 32) {
    float a[32] = {}, b[32] = {};
    for (int i = 0; i < 32 && d + i < query.head_dim; ++i) {
      a[i] = rounded(query.q[d + i]);
      b[i] = wide(query.k[position][d + i]);
    }
    sum.add_block(a, b);
  }
  const float score = sum.value() * (query.scale * kLog2E);
  if (query.cap == 0) return score;
  const float cap = query.cap * kLog2E;
  return cap * tanh_of(set1(score * (1.0F / cap))).v[0];
}

State of_block(const ModelQuery& query, int start) {
  State state;
  float p[kAttnBlock] = {};
  bool seen[kAttnBlock] = {};
  bool some = false;
  for (int j = 0; j < kAttnBlock; ++j) {
    seen[j] = start + j >= query.low && start + j <= query.position;
    if (!seen[j]) continue;
    p[j] = score(query, start + j);
    state.m = some && state.m > p[j] ? state.m : p[j];
    some = true;
  }
  if (!some) return state;
  V16 lanes = zero();
  for (int j = 0; j < kAttnBlock; ++j) {
    if (!seen[j]) continue;
    p[j] = exp2<3>(p[j] - state.m);
    lanes.v[j % 16] = lanes.v[j % 16] + p[j];
    p[j] = rounded(p[j]);
  }
  state.l = reduce_sum(lanes);
  for (int d = 0; d < query.value_dim; ++d) {
    Sum sum(query.pair_order);
    for (int j = 0; j < kAttnBlock; j += 32) {
      float v[32] = {};
      bool looks = false;
      for (int i = 0; i < 32; ++i)
        if (seen[j + i]) v[i] = wide(query.v[start + j + i][d]), looks = true;
      if (looks) sum.add_block(p + j, v);
    }
    state.o[d] = sum.value() + 0.0F;
  }
  return state;
}

}  // namespace

void model_attention(const ModelQuery& query, float* out) {
  State total;
  for (int span = 0; span <= query.position; span += kAttnSpan) {
    State state;
    for (int block = 0; block < kAttnSpan; block += kAttnBlock)
      join(state, of_block(query, span + block), query.value_dim);
    join(total, state, query.value_dim);
  }
  if (query.sink != nullptr) {
    State sink;
    sink.m = *query.sink * kLog2E;
    sink.l = 1;
    join(total, sink, query.value_dim);
  }
  for (int d = 0; d < query.value_dim; ++d) out[d] = total.o[d] / total.l;
}

}  // namespace foretoken
