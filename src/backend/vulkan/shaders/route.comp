#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
// The experts of a row and their weights, of a router's logits (backend/experts.h). The sum of a
// softmax has sixteen chains (expert mod 16), which are joined by halves; that of the chosen scores
// is one chain by rising number.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint SCORE = 0;  // backend/router_score.h
const uint kSoftmax = 0, kSigmoid = 1, kMostExperts = 1024, kMostGroups = 64, kLanes = 64;
layout(push_constant) uniform Call {
  Floats logits;
  Floats bias;   // where has_bias: of ranks
  Floats scale;  // where has_scale: of weights
  Ints chosen;   // [rows][count]
  Floats weights;
  uint experts, count, normalises, has_bias, has_scale;
  float factor;
  uint groups, kept_groups, group_tops;
} call;

shared float scores[kMostExperts];
shared float ranks[kMostExperts];
shared uint is_chosen[kMostExperts];
shared float folded[kLanes];  // of lanes, or of groups
shared float sum_of_chosen;

#define EACH_EXPERT(e) (uint e = gl_LocalInvocationID.x; e < call.experts; e += kLanes)

// A greatest value counts before others, of equals the first.
bool comes_before(float a, uint i, float b, uint j) { return a > b || (a == b && i < j); }

void softmax(uint t) {
  float most = -infinity();
  for EACH_EXPERT(e) most = scores[e] > most ? scores[e] : most;
  folded[t] = most;
  barrier();
  for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    if (t < half_) folded[t] = folded[t] > folded[t + half_] ? folded[t] : folded[t + half_];
    barrier();
  }
  most = folded[0];
  barrier();
  for EACH_EXPERT(e) scores[e] = exp_e(flushed(sub(scores[e], most)));
  barrier();
  if (t < 16u) {
    float chain = 0.0;
    for (uint e = t; e < call.experts; e += 16u) chain = add(chain, scores[e]);
    folded[t] = chain;
  }
  barrier();
  float sum[16];
  [[unroll]] for (uint i = 0; i < 16u; ++i) sum[i] = folded[i];
  [[unroll]] for (uint half_ = 8u; half_ > 0u; half_ /= 2u)
    [[unroll]] for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  for EACH_EXPERT(e) scores[e] = flushed(div(scores[e], sum[0]));
}

// Of the group_tops largest ranks of a group, the largest first.
float sum_of_largest(uint group, uint size) {
  float sum = 0.0, last = infinity();
  uint last_place = 0u;
  for (uint n = 0; n < call.group_tops; ++n) {
    float best = -infinity();
    uint place = ~0u;
    for (uint e = group * size; e < (group + 1u) * size; ++e) {
      const bool is_next = n == 0u || comes_before(last, last_place, ranks[e], e);
      if (is_next && (place == ~0u || comes_before(ranks[e], e, best, place))) {
        best = ranks[e];
        place = e;
      }
    }
    sum = flushed(add(sum, best));
    last = best;
    last_place = place;
  }
  return sum;
}

void keep_best_groups(uint t) {
  const uint size = call.experts / call.groups;
  if (t < call.groups) folded[t] = sum_of_largest(t, size);
  barrier();
  uint before = 0u;
  if (t < call.groups)
    for (uint g = 0; g < call.groups; ++g)
      if (g != t && comes_before(folded[g], g, folded[t], t)) ++before;
  if (t < call.groups && before >= call.kept_groups)
    for (uint e = t * size; e < (t + 1u) * size; ++e) ranks[e] = -infinity();
  barrier();
}

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
  for EACH_EXPERT(e) scores[e] = flushed(call.logits.v[row * call.experts + e]);
  if (SCORE == kSoftmax)
    softmax(t);
  else if (SCORE == kSigmoid)
    for EACH_EXPERT(e) scores[e] = flushed(div(1.0, add(1.0, exp_e(sub(0.0, scores[e])))));
  for EACH_EXPERT(e) {
    float rank = scores[e];
    if (call.has_bias != 0u) rank = flushed(add(rank, flushed(call.bias.v[e])));
    ranks[e] = is_nan(rank) ? -infinity() : rank;
  }
  barrier();
  if (call.kept_groups < call.groups) keep_best_groups(t);
  for EACH_EXPERT(e) {
    uint before = 0u;
    for (uint other = 0; other < call.experts; ++other)
      if (other != e && comes_before(ranks[other], other, ranks[e], e)) ++before;
    is_chosen[e] = before < call.count ? 1u : 0u;
  }
  barrier();
  if (t == 0u) {
    float sum = 0.0;
    for (uint e = 0; e < call.experts; ++e)
      if (is_chosen[e] != 0u) sum = flushed(add(sum, scores[e]));
    sum_of_chosen = flushed(add(sum, 1e-20));
  }
  barrier();
  for EACH_EXPERT(e) {
    if (is_chosen[e] == 0u) continue;
    uint place = row * call.count;
    for (uint other = 0; other < e; ++other) place += is_chosen[other];
    float weight = scores[e];
    if (call.normalises != 0u) weight = flushed(div(weight, sum_of_chosen));
    weight = flushed(mul(weight, call.factor));
    if (call.has_scale != 0u) weight = flushed(mul(weight, flushed(call.scale.v[e])));
    call.chosen.v[place] = int(e);
    call.weights.v[place] = weight;
  }
}
