#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "search.glsl"
// The tokens of the greatest values of a row (search.glsl), found in those parts whose tops reach a
// floor below them: a row of `found` is how many, then a token and its logit each. kTooMany: more
// than `most`, which only searches that are not exact say. Equal values: the lowest id first.
layout(local_size_x = 128) in;
const uint kLanes = 128, kListed = 512, kListedParts = 256, kTooMany = ~0u;
layout(push_constant) uniform Call {
  Floats logits;
  Searches rows;
  Floats tops;
  Words found;  // [searches][1 + 2 * most]
  uint width, parts, part, most;
} call;

shared float value[kListed];
shared uint token[kListed];
shared uint is_kept[kListed];
shared uint part_listed[kListedParts];
shared uint parts_listed, listed, kept;
shared float floor_;

bool comes_before(float a, uint i, float b, uint j) { return a > b || (a == b && i < j); }

// What noise and quotients that are a little off may hide.
float lowered(Search s, float x) {
  if (s.is_exact != 0u || x == -infinity()) return x;
  const float top = x < s.most ? x : s.most;
  return top - s.slack - s.slack_share * absolute(top);
}

void write(uint row, uint place, uint id) {
  const uint at = row * (1u + 2u * call.most) + 1u + 2u * place;
  const bool is_some = id != ~0u;
  const Search s = call.rows.v[row];
  call.found.v[at] = id;
  call.found.v[at + 1u] = is_some ? floatBitsToUint(call.logits.v[s.row * call.width + id])
                                  : floatBitsToUint(-infinity());
}

// A floor that at least s.count tokens reach, where there are as many: the tops of lanes are values.
void find_floor(Search s, uint row, uint t) {
  float top = -infinity();
  for (uint p = t; p < call.parts; p += kLanes) {
    const float x = call.tops.v[row * call.parts + p];
    top = x > top ? x : top;
  }
  value[t] = top;
  barrier();
  uint before = 0u;
  for (uint other = 0; other < kLanes; ++other)
    if (other != t && comes_before(value[other], other, top, t)) ++before;
  if (before + 1u == s.count) floor_ = lowered(s, top);
  if (t == 0u) parts_listed = listed = kept = 0u;
  barrier();
}

void list(Search s, uint row, uint t) {
  const float floor_value = floor_;
  for (uint p = t; p < call.parts; p += kLanes) {
    const float top = call.tops.v[row * call.parts + p];
    if (top < floor_value || top == -infinity()) continue;
    const uint place = atomicAdd(parts_listed, 1u);
    if (place < kListedParts) part_listed[place] = p;
  }
  barrier();
  const uint quads = call.part / 4u, all = min(parts_listed, kListedParts) * quads;
  for (uint i = t; i < all; i += kLanes) {
    const uint quad = part_listed[i / quads] * quads + i % quads;
    const vec4 x = values_of(s, call.logits, call.width, quad);
    for (uint j = 0; j < 4u; ++j) {
      if (x[j] < floor_value || x[j] == -infinity()) continue;
      const uint place = atomicAdd(listed, 1u);
      if (place >= kListed) continue;
      value[place] = x[j];
      token[place] = quad * 4u + j;
    }
  }
  barrier();
}

// Finds one token after the other. Used where a list cannot hold all equal ones.
void find_one_by_one(Search s, uint row, uint t) {
  float last = infinity();
  uint last_id = ~0u, many = 0u;
  for (uint n = 0; n < s.count; ++n) {
    float best = -infinity();
    uint id = ~0u;
    for (uint quad = t; quad * 4u < call.width; quad += kLanes) {
      const vec4 x = values_of(s, call.logits, call.width, quad);
      for (uint j = 0; j < 4u; ++j) {
        const uint here = quad * 4u + j;
        const bool is_next = n == 0u || comes_before(last, last_id, x[j], here);
        if (is_next && x[j] > best) {
          best = x[j];
          id = here;
        }
      }
    }
    value[t] = best;
    token[t] = id;
    barrier();
    for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
      if (t < half_ && comes_before(value[t + half_], token[t + half_], value[t], token[t])) {
        value[t] = value[t + half_];
        token[t] = token[t + half_];
      }
      barrier();
    }
    last = value[0];
    last_id = token[0];
    barrier();
    if (last_id == ~0u) break;
    if (t == 0u) write(row, n, last_id);
    ++many;
  }
  if (t == 0u) {
    call.found.v[row * (1u + 2u * call.most)] = many;
    for (uint n = many; n < call.most; ++n) write(row, n, ~0u);
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
  const Search s = call.rows.v[row];
  find_floor(s, row, t);
  list(s, row, t);
  const bool is_whole = listed <= kListed && parts_listed <= kListedParts;
  if (!is_whole && s.is_exact != 0u) {
    find_one_by_one(s, row, t);
    return;
  }
  // The floor that the values listed make is the higher one.
  const uint many = min(listed, kListed);
  for (uint i = t; i < many; i += kLanes) {
    uint before = 0u;
    for (uint other = 0; other < many; ++other)
      if (other != i && comes_before(value[other], token[other], value[i], token[i])) ++before;
    is_kept[i] = before;
    if (before + 1u == s.count) floor_ = lowered(s, value[i]);
  }
  barrier();
  for (uint i = t; i < many; i += kLanes) {
    const bool keeps = s.is_exact != 0u ? is_kept[i] < s.count : value[i] >= floor_;
    if (!keeps) {
      is_kept[i] = ~0u;
      continue;
    }
    atomicAdd(kept, 1u);
    if (s.is_exact == 0u) is_kept[i] = 0u;
  }
  barrier();
  const bool fits = is_whole && kept <= call.most;
  if (t == 0u) call.found.v[row * (1u + 2u * call.most)] = fits ? kept : kTooMany;
  for (uint n = t; n < call.most; n += kLanes)
    if (!fits || n >= kept) write(row, n, ~0u);
  if (!fits) return;
  for (uint i = t; i < many; i += kLanes) {
    if (is_kept[i] == ~0u) continue;
    uint place = is_kept[i];
    if (s.is_exact == 0u)
      for (uint other = 0; other < many; ++other)
        if (is_kept[other] != ~0u && token[other] < token[i]) ++place;
    write(row, place, token[i]);
  }
}
