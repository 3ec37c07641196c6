#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "kv_formats.glsl"
// One head of one row of q | k | v: its norm and rotation; queries to `q`, keys and values to their
// places in the cache, as kv_formats.glsl lays it out.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0;
const uint kMostDims = 256;
layout(push_constant) uniform Call {
  Floats qkv;
  Floats cosines;  // [positions][pairs]
  Floats sines;
  Floats q_norm;
  Floats k_norm;
  Floats q;
  Words k;
  Words v;
  Floats k_scale;  // of codes
  Floats v_scale;
  Ints positions;
  Ints slots;  // -1: not stored
  uint heads, kv_heads, dim, rotary, pairs;
  float eps;
  uint has_norm;
} call;

shared float head[kMostDims];
shared float chains[16];
shared float turned[kMostDims];
shared float reaches[64];

void normalise(uint t, bool is_query) {
  if (t < 16u) {
    float squares = 0.0;
    for (uint i = t; i < call.dim; i += 16u) squares = fma_once(head[i], head[i], squares);
    chains[t] = squares;
  }
  barrier();
  float sum[16];
  for (uint i = 0; i < 16u; ++i) sum[i] = chains[i];
  for (uint half_ = 8u; half_ > 0u; half_ /= 2u)
    for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  const float mean = flushed(div(sum[0], float(call.dim)));
  const float scale = div(1.0, square_root(add(mean, call.eps)));
  for (uint i = t; i < call.dim; i += 64u) {
    const float weight = is_query ? call.q_norm.v[i] : call.k_norm.v[i];
    head[i] = flushed(mul(flushed(mul(head[i], scale)), flushed(weight)));
  }
  barrier();
}

void rotate(uint t, uint row) {
  const uint half_ = call.rotary / 2u, at = uint(call.positions.v[row]) * call.pairs;
  for (uint i = t; i < call.pairs; i += 64u) {
    const float c = call.cosines.v[at + i], s = call.sines.v[at + i];
    const float a = head[i], b = head[half_ + i];
    turned[i] = flushed(sub(flushed(mul(a, c)), flushed(mul(b, s))));
    turned[half_ + i] = flushed(add(flushed(mul(b, c)), flushed(mul(a, s))));
  }
  for (uint i = call.pairs + t; i < half_; i += 64u) {
    turned[i] = head[i];
    turned[half_ + i] = head[half_ + i];
  }
  for (uint i = call.rotary + t; i < call.dim; i += 64u) turned[i] = head[i];
}

// The greatest magnitude of the row; infinity where a value is not finite.
float reach_of_row(uint t) {
  float most = 0.0;
  for (uint i = t; i < call.dim; i += 64u) {
    const float a = absolute(turned[i]);
    if (!(a <= most)) most = is_nan(a) ? infinity() : a;
  }
  reaches[t] = most;
  barrier();
  for (uint i = 0; i < 64u; ++i) most = most < reaches[i] ? reaches[i] : most;
  return most;
}

// Word i of a row whose codes are values times `inverse`; 0: all codes are 0.
uint codes_word(uint i, float inverse) {
  uint word = 0u;
  if (inverse == 0.0) return word;
  for (uint j = 0; j < 4u; ++j)
    word |= code_of(KIND, flushed(mul(turned[4u * i + j], inverse))) << (8u * j);
  return word;
}

uint float_word(uint i) {
  const float low = turned[2u * i], high = turned[2u * i + 1u];
  return KIND == kKvF16 ? f16_bits(low) | (f16_bits(high) << 16) : bf16_pair(low, high);
}

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.y, h = gl_WorkGroupID.x;
  const uint width = (call.heads + 2u * call.kv_heads) * call.dim;
  const bool is_query = h < call.heads, is_value = h >= call.heads + call.kv_heads;
  for (uint i = t; i < call.dim; i += 64u)
    head[i] = flushed(call.qkv.v[row * width + h * call.dim + i]);
  barrier();
  if (is_value) {
    for (uint i = t; i < call.dim; i += 64u) turned[i] = head[i];
  } else {
    if (call.has_norm != 0u) normalise(t, is_query);
    rotate(t, row);
  }
  barrier();
  if (is_query) {
    for (uint i = t; i < call.dim; i += 64u)
      call.q.v[(row * call.heads + h) * call.dim + i] = turned[i];
    return;
  }
  const int slot = call.slots.v[row];
  if (slot < 0) return;
  const uint page = uint(slot) / kPageTokens, place = uint(slot) % kPageTokens;
  const uint kv_head = (h - call.heads) % call.kv_heads, words = call.dim / per_word(KIND);
  const uint head_at = page * call.kv_heads + kv_head, first = head_at * words * kPageTokens;
  float inverse = 0.0;
  if (is_code(KIND)) {
    const float reach = reach_of_row(t), last = last_code(KIND);
    const bool is_finite = reach < infinity();
    const bool is_seen = is_finite && reach >= 7.888609052210118e-31;  // 2^-100
    if (is_seen) inverse = div(last, reach);
    const float scale =
        is_seen ? div(reach, last) : is_finite ? 0.0 : uintBitsToFloat(0x7fc00000u);
    if (t == 0u && is_value) call.v_scale.v[head_at * kPageTokens + place] = scale;
    if (t == 0u && !is_value) call.k_scale.v[head_at * kPageTokens + place] = scale;
  }
  for (uint i = t; i < words; i += 64u) {
    const uint word = is_code(KIND) ? codes_word(i, inverse) : float_word(i);
    if (is_value)
      call.v.v[first + place * words + i] = word;
    else
      call.k.v[first + i * kPageTokens + place] = word;
  }
}
