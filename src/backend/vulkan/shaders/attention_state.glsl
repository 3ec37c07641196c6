// What attention.comp and attention_join.comp share: the call, states of softmax and how they join.
//
//   VARIANT = OF_PART | KIND of kv_formats.glsl << 16 | IS_LATENT << 19 | kPairs << 20
layout(constant_id = 0) const uint VARIANT = 0x200000u;
const uint OF_PART = VARIANT & 0xffffu, KIND = (VARIANT >> 16) & 7u;
const bool IS_LATENT = (VARIANT & 0x80000u) != 0u;  // values are the first elements of keys
const uint kPairs = VARIANT >> 20;                  // of dimensions of a value: a lane's
const uint kMostDims = kPairs > 2u ? 1024u : 256u;  // of a key
const uint kBlock = 128, kSpan = 512, kMostPairs = 8;
const uint kRowWords = 6;
layout(push_constant) uniform Call {
  Floats q;
  Words k;  // as kv_formats.glsl lays them out
  Words v;
  Floats k_scale;  // of codes
  Floats v_scale;
  Floats to;
  Words rows;  // of each: position, first seen, where the tree starts, first page, its nodes
  Ints pages;
  Floats sinks;  // [heads]
  Words rounded;  // the result as the blocks of bf16 that products take, where it is wanted
  Floats parts;  // [rows][heads][most_parts]: m, l and the dimensions of a state
  uint heads, kv_heads, dim, value_dim;
  uint flags;  // 1: there are sinks, 2: the result is wanted rounded
  float scale, cap, inverse_cap;
  uint most_parts;
} call;

// A softmax state: of the lane's dimensions o, of the query m and l. Lane t has the pairs of
// dimensions t, t + 64, ..
struct State {
  float m, l;
  float o[2 * kMostPairs];  // of them 2 * kPairs
};

State nothing_seen() {
  State state;
  state.m = -infinity();
  state.l = 0.0;
  for (uint i = 0; i < 2u * kPairs; ++i) state.o[i] = 0.0;
  return state;
}

// `more`, of later positions, joins `to`.
void join(inout State to, State more) {
  if (more.l <= 0.0) return;
  const bool grows = to.m < more.m;
  const float top = grows ? more.m : to.m, least = grows ? to.m : more.m;
  const float other = exp2_fine(sub(least, top));
  const float before = grows ? other : 1.0, after = grows ? 1.0 : other;
  to.l = fma_once(to.l, before, flushed(mul(more.l, after)));
  for (uint i = 0; i < 2u * kPairs; ++i)
    to.o[i] = fma_once(to.o[i], before, flushed(mul(add(more.o[i], 0.0), after)));
  to.m = top;
}

// Positions [low, position] of a row.
uint position_of(uint row) { return call.rows.v[row * kRowWords]; }
uint low_of(uint row) { return call.rows.v[row * kRowWords + 1u]; }

// Where the state of a part starts.
uint part_at(uint row, uint h, uint part) {
  return ((row * call.heads + h) * call.most_parts + part) * (2u + call.value_dim);
}

void finish(uint t, uint row, uint h, State total) {
  if ((call.flags & 1u) != 0u) {
    State sink = nothing_seen();
    sink.m = flushed(mul(call.sinks.v[h], 1.44269504));
    sink.l = 1.0;
    const bool grows = total.m < sink.m;
    const float top = grows ? sink.m : total.m;
    const float other = exp2_fine(sub(grows ? total.m : sink.m, top));
    const float before = grows ? other : 1.0, after = grows ? 1.0 : other;
    total.l = fma_once(total.l, before, flushed(mul(sink.l, after)));
    for (uint i = 0; i < 2u * kPairs; ++i) total.o[i] = flushed(mul(total.o[i], before));
  }
  for (uint p = 0; p < kPairs; ++p) {
    const uint d = 2u * (t + 64u * p);
    if (d >= call.value_dim) continue;
    const uint i = h * call.value_dim + d, width = call.heads * call.value_dim;
    const float low = flushed(div(total.o[2u * p], total.l));
    const float high = flushed(div(total.o[2u * p + 1u], total.l));
    call.to.v[row * width + i] = low;
    call.to.v[row * width + i + 1u] = high;
    if ((call.flags & 2u) != 0u)
      call.rounded.v[row * width / 2u + word_of(i, 0u, 1u, width / 32u)] = bf16_pair(low, high);
  }
}
