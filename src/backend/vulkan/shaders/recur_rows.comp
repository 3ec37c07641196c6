#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "states.glsl"
#include "state_block.glsl"
// The rows of one sequence in one head, in order: what each finds in the state before its block and
// in the tokens of the block before it, its update and its result; and the state behind a block
// that it completes. A lane has columns of values, so it reads what it wrote itself.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call { Layer layer; } call;
const uint kNoState = 0, kOfPage = 1, kMade = 2;  // what `from` and `then` name

// Of the row and a token before it in its block: how its update counts.
float weight_of(Layer at, uint h, uint from, uint token, float decay) {
  const uint key_head = key_head_of(at, h);
  float product;
  if (kind_of(token) == kOfRow)
    product = dot_of(at.mixed, from, at.mixed, row_key(at, token, key_head), at.key_dim);
  else
    product = dot_of(at.mixed, from, at.item_keys, item_key(at, token, key_head), at.key_dim);
  return flushed(mul(exp_nonpositive(flushed(sub(decay, decay_of(at, token, h)))), product));
}

void main() {
  Layer at = call.layer;
  const uint t = gl_LocalInvocationID.x, h = gl_WorkGroupID.x, seq = gl_WorkGroupID.y;
  const uint first = at.seqs.v[2u * seq], end = first + at.seqs.v[2u * seq + 1u];
  const uint in_head = key_head_of(at, h) * at.key_dim, size = at.key_dim * at.value_dim;
  for (uint row = first; row < end; ++row) {
    const uint path_at = at.rows.v[4u * row], count = at.rows.v[4u * row + 1u];
    const uint from = at.rows.v[4u * row + 2u], then = at.rows.v[4u * row + 3u];
    if (t < count) path[t] = at.paths.v[path_at + t];
    barrier();
    const float decay = at.row_decays.v[row * at.heads + h], kept = exp_nonpositive(decay);
    const uint query = row * at.channels + at.query_at + in_head;
    const uint key = row * at.channels + at.key_at + in_head;
    if (at.corrects != 0u && t < count) weights[t] = weight_of(at, h, key, path[t], decay);
    if (t >= kTokens && t - kTokens < count)
      weights[t] = weight_of(at, h, query, path[t - kTokens], decay);
    if (t == kLanes - 1u) weights[t] = dot_of(at.mixed, query, at.mixed, key, at.key_dim);
    barrier();
    const bool has_state = kind_of(from) != kNoState;
    const uint state_at = (number_of(from) * at.heads + h) * size;
    Floats state = at.state;
    if (kind_of(from) == kMade) state = at.made;
    for (uint j = t; j < at.value_dim; j += kLanes) {
      float of_key = 0.0, of_query = 0.0;
      if (has_state)
        for (uint d = 0; d < at.key_dim; ++d) {
          const float s = state.v[state_at + d * at.value_dim + j];
          of_key = add_product(of_key, at.mixed.v[key + d], s);
          of_query = add_product(of_query, at.mixed.v[query + d], s);
        }
      const uint place = (row * at.heads + h) * at.value_dim + j;
      const float value = at.mixed.v[row * at.channels + at.value_at + h * at.value_dim + j];
      float update;
      if (at.corrects != 0u) {
        update = has_state ? flushed(mul(kept, of_key)) : 0.0;
        for (uint i = 0; i < count; ++i)
          update = add_product(update, weights[i], update_of(at, path[i], h, j));
        const float beta = logistic(flushed(at.beta.v[row * at.heads + h]));
        update = flushed(mul(beta, flushed(sub(value, update))));
      } else {
        update = flushed(mul(at.dt.v[row * at.heads + h], value));
      }
      at.row_updates.v[place] = update;
      float sum = has_state ? flushed(mul(kept, of_query)) : 0.0;
      for (uint i = 0; i < count; ++i)
        sum = add_product(sum, weights[kTokens + i], update_of(at, path[i], h, j));
      sum = add_product(sum, weights[kLanes - 1u], update);
      if (at.has_skip != 0u) sum = add_product(sum, flushed(at.skip.v[h]), value);
      at.to.v[place] = sum;
    }
    barrier();
    if (kind_of(then) == kNoState) continue;
    if (t == 0u) path[count] = kOfRow << 30 | row;
    barrier();
    Floats next = at.state;
    if (kind_of(then) == kMade) next = at.made;
    advance(at, t, h, count + 1u, has_state, state, state_at, next,
            (number_of(then) * at.heads + h) * size);
  }
}
