#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
#include "kv_formats.glsl"
// One query head of one row against the keys and values that its row sees, in the order of their
// logical positions (numerics.md): blocks of 128 positions, which join a span of 512, which join
// the result. Lanes take positions for scores and pairs of dimensions for values.
//
// Keys and values of bf16 are multiplied by queries and weights rounded to bf16, in two chains a
// piece of 32. All others are multiplied in one chain by floats as they are; where they are codes,
// a score is multiplied by the key's scale, a weight by the value's.
//
// One workgroup does all of it, or OF_PART positions: a block or a span, whose state
// attention_join.comp joins with the others.
//
// Of latent attention a value is the first elements of its key, and lies where that does.
layout(local_size_x = 64) in;
#include "attention_state.glsl"

shared float query[kMostDims];
shared uint path[64];  // nodes that the row sees, by depth
shared float scores[kBlock];
shared uint slot_of[kBlock];
shared float folded[64];

// A query as it is multiplied.
float asked_of(float a) { return KIND == kKvBf16 ? round_bf16(a) : flushed(a); }

uint kv_head() { return gl_WorkGroupID.x / (call.heads / call.kv_heads); }

// The head's first scale, and its first word, in a slot's page.
uint scales_at(uint slot) {
  return (slot / kPageTokens * call.kv_heads + kv_head()) * kPageTokens;
}
uint page_at(uint slot) { return scales_at(slot) * (call.dim / per_word(KIND)); }

// Whole pieces bring all that they read before they use it.
float sum_of_bf16(uint slot) {
  const uint first = page_at(slot) + slot % kPageTokens;
  float total = 0.0;
  for (uint d = 0; d < call.dim; d += 32u) {
    float even = 0.0, odd = 0.0;
    if (d + 32u <= call.dim) {
      uint pairs[16];
      [[unroll]] for (uint i = 0; i < 16u; ++i)
        pairs[i] = call.k.v[first + (d / 2u + i) * kPageTokens];
      [[unroll]] for (uint i = 0; i < 16u; ++i) {
        even = fma_exact(query[d + 2u * i], low_half(pairs[i]), even);
        odd = fma_exact(query[d + 2u * i + 1u], high_half(pairs[i]), odd);
      }
    } else {
      for (uint i = d; i < call.dim; i += 2u) {
        const uint pair = call.k.v[first + i / 2u * kPageTokens];
        even = fma_exact(query[i], low_half(pair), even);
        odd = fma_exact(query[i + 1u], high_half(pair), odd);
      }
    }
    total = add(total, add(even, odd));
  }
  return flushed(total);
}

float sum_of_others(uint slot) {
  const uint first = page_at(slot) + slot % kPageTokens, each = per_word(KIND);
  const uint words = call.dim / each;
  float total = 0.0;
  for (uint start = 0; start < words; start += 4u) {
    uint word[4];
    [[unroll]] for (uint i = 0; i < 4u; ++i)
      word[i] = call.k.v[first + min(start + i, words - 1u) * kPageTokens];
    for (uint i = 0; i < min(4u, words - start); ++i)
      for (uint j = 0; j < each; ++j)
        total = fma_once(query[(start + i) * each + j], element_of(KIND, word[i], j), total);
  }
  if (is_code(KIND))
    total = flushed(mul(total, call.k_scale.v[scales_at(slot) + slot % kPageTokens]));
  return total;
}

float score_of(uint slot) {
  const float sum = KIND == kKvBf16 ? sum_of_bf16(slot) : sum_of_others(slot);
  const float score = flushed(mul(sum, call.scale));
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
  [[unroll]] for (uint i = 0; i < 16u; ++i) sum[i] = folded[i];
  [[unroll]] for (uint half_ = 8u; half_ > 0u; half_ /= 2u)
    [[unroll]] for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  return sum[0];
}

uint value_at(uint slot, uint word) {
  if (IS_LATENT) return call.k.v[page_at(slot) + slot % kPageTokens + word * kPageTokens];
  return call.v.v[page_at(slot) + slot % kPageTokens * (call.dim / per_word(KIND)) + word];
}

// What a value is multiplied by.
float weight_of(float e, uint slot) {
  if (KIND == kKvBf16) return round_bf16(e);
  if (!is_code(KIND)) return e;
  const uint at = scales_at(slot) + slot % kPageTokens;
  if (IS_LATENT) return flushed(mul(e, call.k_scale.v[at]));
  return flushed(mul(e, call.v_scale.v[at]));
}

// What a pair of a slot's value stands for.
vec2 values_of(uint slot, uint pair) {
  if (KIND == kKvF32)
    return vec2(element_of(KIND, value_at(slot, 2u * pair), 0u),
                element_of(KIND, value_at(slot, 2u * pair + 1u), 0u));
  if (!is_code(KIND)) {
    const uint word = value_at(slot, pair);
    return vec2(element_of(KIND, word, 0u), element_of(KIND, word, 1u));
  }
  const uint word = value_at(slot, pair / 2u), first = pair % 2u * 2u;
  return vec2(element_of(KIND, word, first), element_of(KIND, word, first + 1u));
}

// In one chain, and by codes' scores with their scales.
void add_other_values(uint t, uint begin, uint end, inout State block) {
  for (uint p = 0; p < kPairs; ++p) {
    const uint pair = t + 64u * p;
    if (pair >= call.value_dim / 2u) continue;
    float low = 0.0, high = 0.0;
    for (uint j = begin; j < end; ++j) {
      const vec2 value = values_of(slot_of[j], pair);
      low = fma_once(scores[j], value.x, low);
      high = fma_once(scores[j], value.y, high);
    }
    block.o[2u * p] = low;
    block.o[2u * p + 1u] = high;
  }
}

// Values of the block's positions [begin, end), weighted by their scores.
void add_values(uint t, uint begin, uint end, inout State block) {
  const uint pairs = call.value_dim / 2u;
  for (uint p = 0; p < kPairs; ++p) {
    const uint pair = t + 64u * p;
    if (pair >= pairs) continue;
    float low = 0.0, high = 0.0;
    for (uint start = begin / 32u * 32u; start < end; start += 32u) {
      float low_sums[2] = {0.0, 0.0}, high_sums[2] = {0.0, 0.0};
      if (begin <= start && start + 32u <= end) {
        uint values[32];
        [[unroll]] for (uint j = 0; j < 32u; ++j) values[j] = value_at(slot_of[start + j], pair);
        [[unroll]] for (uint j = 0; j < 32u; ++j) {
          low_sums[j & 1u] = fma_exact(scores[start + j], low_half(values[j]), low_sums[j & 1u]);
          high_sums[j & 1u] = fma_exact(scores[start + j], high_half(values[j]), high_sums[j & 1u]);
        }
      } else {
        for (uint j = max(start, begin); j < min(start + 32u, end); ++j) {
          const uint value = value_at(slot_of[j], pair), parity = j & 1u;
          low_sums[parity] = fma_exact(scores[j], low_half(value), low_sums[parity]);
          high_sums[parity] = fma_exact(scores[j], high_half(value), high_sums[parity]);
        }
      }
      low = add(low, add(low_sums[0], low_sums[1]));
      high = add(high, add(high_sums[0], high_sums[1]));
    }
    block.o[2u * p] = flushed(low);
    block.o[2u * p + 1u] = flushed(high);
  }
}

float power_of_two(float a) { return KIND == kKvBf16 ? exp2_coarse(a) : exp2_fine(a); }

void main() {
  const uint t = gl_LocalInvocationID.x, h = gl_WorkGroupID.x;
  const uint row = gl_WorkGroupID.y / call.most_parts, part = gl_WorkGroupID.y % call.most_parts;
  const uint info = row * kRowWords;
  const uint position = position_of(row), low = low_of(row);
  uint first = low / kBlock * kBlock, last = position;  // what this workgroup looks at
  if (OF_PART != 0u) {
    const uint start = (low / OF_PART + part) * OF_PART;
    if (start > position) return;
    first = max(first, start);
    last = min(last, start + OF_PART - 1u);
  }
  const uint tree = call.rows.v[info + 2u], first_page = call.rows.v[info + 3u];
  const uint nodes_low = call.rows.v[info + 4u], nodes_high = call.rows.v[info + 5u];
  const bool has_nodes = (nodes_low | nodes_high) != 0u;
  const uint own = t < 32u ? nodes_low : nodes_high, bit = 1u << (t & 31u);
  if ((own & bit) != 0u)
    path[bitCount(own & (bit - 1u)) + (t < 32u ? 0u : bitCount(nodes_low))] = t;
  for (uint i = t; i < call.dim; i += 64u)
    query[i] = asked_of(call.q.v[(row * call.heads + h) * call.dim + i]);
  barrier();
  State total = nothing_seen(), span = nothing_seen();
  for (uint start = first; start <= last; start += kBlock) {
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
      scores[j] = j >= begin && j < end ? power_of_two(sub(scores[j], block.m)) : 0.0;
    barrier();
    block.l = sum_of_weights(t);
    barrier();
    for (uint j = t; j < kBlock; j += 64u)
      if (j >= begin && j < end) scores[j] = weight_of(scores[j], slot_of[j]);
    barrier();
    if (KIND == kKvBf16)
      add_values(t, begin, end, block);
    else
      add_other_values(t, begin, end, block);
    barrier();
    if (start % kSpan == 0u) {
      join(total, span);
      span = nothing_seen();
    }
    join(span, block);
  }
  if (OF_PART == 0u) {
    join(total, span);
    finish(t, row, h, total);
    return;
  }
  const uint to = part_at(row, h, part);
  if (t == 0u) {
    call.parts.v[to] = span.m;
    call.parts.v[to + 1u] = span.l;
  }
  for (uint p = 0; p < 2u * kPairs; ++p) {
    const uint d = 2u * (t + 64u * (p / 2u)) + p % 2u;
    if (d < call.value_dim) call.parts.v[to + 2u + d] = span.o[p];
  }
}
