#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
// One query head of one row against the keys and values that its row sees, in the order of their
// logical positions (numerics.md): blocks of 128 positions, which join a span of 512, which join
// the result. Lanes take positions for scores and pairs of dimensions for values.
layout(local_size_x = 64) in;
const uint kMostDims = 256, kPageTokens = 16, kBlock = 128, kSpan = 512, kPairs = 2;
const uint kRowWords = 6;
layout(push_constant) uniform Call {
  Floats q;
  Words k;  // as rope_store.comp lays them out
  Words v;
  Floats to;
  Words rows;  // of each: position, first seen, where the tree starts, first page, its nodes
  Ints pages;
  Floats sinks;  // [heads]
  uint heads, kv_heads, dim, window, has_sinks;
  float scale, cap, inverse_cap;
} call;

shared float query[kMostDims];
shared uint path[64];  // nodes that the row sees, by depth
shared float scores[kBlock];
shared uint slot_of[kBlock];
shared float folded[64];

// A softmax state: of the lane's dimensions o, of the query m and l.
struct State {
  float m, l;
  float o[2 * kPairs];
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

uint kv_head() { return gl_WorkGroupID.x / (call.heads / call.kv_heads); }

// The first word of a slot's page.
uint page_at(uint slot) {
  const uint page = slot / kPageTokens;
  return (page * call.kv_heads + kv_head()) * (call.dim / 2u) * kPageTokens;
}

float score_of(uint slot) {
  const uint first = page_at(slot) + slot % kPageTokens;
  float total = 0.0;
  for (uint d = 0; d < call.dim; d += 32u) {
    float even = 0.0, odd = 0.0;
    for (uint i = d; i < min(d + 32u, call.dim); i += 2u) {
      const uint pair = call.k.v[first + i / 2u * kPageTokens];
      even = fma_exact(query[i], low_half(pair), even);
      odd = fma_exact(query[i + 1u], high_half(pair), odd);
    }
    total = add(total, add(even, odd));
  }
  const float score = flushed(mul(flushed(total), call.scale));
  return call.cap > 0.0 ? capped(score, call.cap, call.inverse_cap) : score;
}

// Of 64 lanes, by halves.
float greatest(uint t, float a) {
  folded[t] = a;
  barrier();
  for (uint half_ = 32u; half_ > 0u; half_ /= 2u) {
    if (t < half_) folded[t] = folded[t] > folded[t + half_] ? folded[t] : folded[t + half_];
    barrier();
  }
  const float all = folded[0];
  barrier();
  return all;
}

// Sixteen chains (position mod 16) over the block, joined by halves.
float sum_of_weights(uint t) {
  if (t < 16u) {
    float chain = 0.0;
    for (uint j = t; j < kBlock; j += 16u) chain = add(chain, scores[j]);
    folded[t] = chain;
  }
  barrier();
  float sum[16];
  for (uint i = 0; i < 16u; ++i) sum[i] = folded[i];
  for (uint half_ = 8u; half_ > 0u; half_ /= 2u)
    for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  return sum[0];
}

// Values of the block's positions [begin, end), weighted by their scores.
void add_values(uint t, uint begin, uint end, inout State block) {
  const uint pairs = call.dim / 2u;
  for (uint p = 0; p < kPairs; ++p) {
    const uint pair = t + 64u * p;
    if (pair >= pairs) continue;
    float low = 0.0, high = 0.0;
    for (uint start = begin / 32u * 32u; start < end; start += 32u) {
      float low_sums[2] = {0.0, 0.0}, high_sums[2] = {0.0, 0.0};
      for (uint j = max(start, begin); j < min(start + 32u, end); ++j) {
        const uint slot = slot_of[j];
        const uint value = call.v.v[page_at(slot) + slot % kPageTokens * pairs + pair];
        const uint parity = j & 1u;
        low_sums[parity] = fma_exact(scores[j], low_half(value), low_sums[parity]);
        high_sums[parity] = fma_exact(scores[j], high_half(value), high_sums[parity]);
      }
      low = add(low, add(low_sums[0], low_sums[1]));
      high = add(high, add(high_sums[0], high_sums[1]));
    }
    block.o[2u * p] = flushed(low);
    block.o[2u * p + 1u] = flushed(high);
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x, h = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
  const uint info = row * kRowWords;
  const uint position = call.rows.v[info], first_seen = call.rows.v[info + 1u];
  const uint tree = call.rows.v[info + 2u], first_page = call.rows.v[info + 3u];
  const uint nodes_low = call.rows.v[info + 4u], nodes_high = call.rows.v[info + 5u];
  const bool has_nodes = (nodes_low | nodes_high) != 0u;
  const uint own = t < 32u ? nodes_low : nodes_high, bit = 1u << (t & 31u);
  if ((own & bit) != 0u)
    path[bitCount(own & (bit - 1u)) + (t < 32u ? 0u : bitCount(nodes_low))] = t;
  for (uint i = t; i < call.dim; i += 64u)
    query[i] = round_bf16(call.q.v[(row * call.heads + h) * call.dim + i]);
  barrier();
  const uint windowed = call.window > 0u && position >= call.window ? position - call.window + 1u : 0u;
  const uint low = max(windowed, first_seen);
  State total = nothing_seen(), span = nothing_seen();
  for (uint start = low / kBlock * kBlock; start <= position; start += kBlock) {
    const uint begin = max(low, start) - start, end = min(position + 1u, start + kBlock) - start;
    float most = -infinity();
    for (uint j = t; j < kBlock; j += 64u) {
      const bool is_seen = j >= begin && j < end;
      const uint at = start + j;
      scores[j] = -infinity();
      if (!is_seen) continue;
      const uint place = has_nodes && at >= tree ? tree + path[at - tree] : at;
      const uint page = uint(call.pages.v[first_page + place / kPageTokens]);
      slot_of[j] = page * kPageTokens + place % kPageTokens;
      scores[j] = score_of(slot_of[j]);
      most = most > scores[j] ? most : scores[j];
    }
    State block = nothing_seen();
    block.m = greatest(t, most);
    for (uint j = t; j < kBlock; j += 64u)
      scores[j] = j >= begin && j < end ? exp2_coarse(sub(scores[j], block.m)) : 0.0;
    barrier();
    block.l = sum_of_weights(t);
    barrier();
    for (uint j = t; j < kBlock; j += 64u) scores[j] = round_bf16(scores[j]);
    barrier();
    add_values(t, begin, end, block);
    barrier();
    if (start % kSpan == 0u) {
      join(total, span);
      span = nothing_seen();
    }
    join(span, block);
  }
  join(total, span);
  if (call.has_sinks != 0u) {
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
    if (d >= call.dim) continue;
    const uint at = (row * call.heads + h) * call.dim + d;
    call.to.v[at] = flushed(div(total.o[2u * p], total.l));
    call.to.v[at + 1u] = flushed(div(total.o[2u * p + 1u], total.l));
  }
}
