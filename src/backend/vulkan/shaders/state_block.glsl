// What recur_rows.comp and recur_advance.comp share: the tokens of a block as one head sees them,
// and the state behind them.
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Layer {  // StateLayerAt
  Floats mixed;      // [rows][channels], behind the convolution: queries, keys, values
  Floats item_keys;  // [items][key_heads * key_dim]
  Floats row_updates, item_updates;  // [..][heads][value_dim]
  Floats row_decays, item_decays;    // [..][heads]: G
  Floats state;                      // [pages][heads][key_dim][value_dim]
  Floats made;                       // the same, of nodes that complete a block
  Words seqs;                        // of each: its first row, their number
  Words rows;                        // of each: first in paths, count there, from, then
  Words paths;
  Floats dt, beta;  // [rows][heads]
  Floats skip;      // [heads]
  Floats to;        // [rows][heads][value_dim]
  uint channels, query_at, key_at, value_at;
  uint heads, key_heads, key_dim, value_dim;
  uint takes_turns, corrects, has_skip;
};
const uint kLanes = 64, kTokens = 32;

shared uint path[kTokens];         // tokens of the block so far
shared float weights[2 * kTokens];

uint key_head_of(Layer at, uint h) {
  return at.takes_turns != 0u ? h % at.key_heads : h / (at.heads / at.key_heads);
}
// Where to read of a token as a row and as an item: a compiler may do both, so both are in bounds.
uint row_of(uint token) { return kind_of(token) == kOfRow ? number_of(token) : 0u; }
uint item_of(uint token) { return kind_of(token) == kOfRow ? 0u : number_of(token); }

uint row_key(Layer at, uint token, uint key_head) {
  return row_of(token) * at.channels + at.key_at + key_head * at.key_dim;
}
uint item_key(Layer at, uint token, uint key_head) {
  return (item_of(token) * at.key_heads + key_head) * at.key_dim;
}
float decay_of(Layer at, uint token, uint h) {
  if (kind_of(token) == kOfRow) return at.row_decays.v[row_of(token) * at.heads + h];
  return at.item_decays.v[item_of(token) * at.heads + h];
}
float update_of(Layer at, uint token, uint h, uint j) {
  const uint row = (row_of(token) * at.heads + h) * at.value_dim + j;
  const uint item = (item_of(token) * at.heads + h) * at.value_dim + j;
  if (kind_of(token) == kOfRow) return at.row_updates.v[row];
  return at.item_updates.v[item];
}

// The state behind `count` tokens of the path, from that before them, into `to`, which may be it.
// All lanes of a workgroup come here. A lane has columns of value_dim.
void advance(Layer at, uint t, uint h, uint count, bool has_from, Floats from, uint from_at,
             Floats to, uint to_at) {
  const float last = decay_of(at, path[count - 1u], h), kept = exp_nonpositive(last);
  barrier();
  if (t < count) weights[t] = exp_nonpositive(flushed(sub(last, decay_of(at, path[t], h))));
  barrier();
  const uint key_head = key_head_of(at, h);
  for (uint j = t; j < at.value_dim; j += kLanes)
    for (uint d = 0; d < at.key_dim; ++d) {
      const uint inside = d * at.value_dim + j;
      float sum = has_from ? flushed(mul(kept, from.v[from_at + inside])) : 0.0;
      for (uint i = 0; i < count; ++i) {
        float k;
        if (kind_of(path[i]) == kOfRow)
          k = at.mixed.v[row_key(at, path[i], key_head) + d];
        else
          k = at.item_keys.v[item_key(at, path[i], key_head) + d];
        sum = add_product(sum, flushed(mul(weights[i], k)), update_of(at, path[i], h, j));
      }
      to.v[to_at + inside] = sum;
    }
  barrier();
}
