// The result of a row and a column of products whose input is codes, too, out of the sums of groups,
// which are integers (numerics.md). Groups come in order. Who includes this has codes.glsl and a
// `call` with
//
//   x_scales   [rows][groups]; where there is a super [rows][blocks]
//   x_sums     [rows][groups]: of the input's codes; where there is a super the numbers beside minima
//   u_scales   [rows][supers] of these

struct RoundedSum {
  float y, of_super;
  int of_block, minima;
};

// `sum`: of the products of the group that ends in half `part` of `block`; its place among `groups`
// of a row.
void add_group(inout RoundedSum s, uint row, uint column, uint block, uint part, uint groups,
               uint place, int sum) {
  const uint group = column / kCols, c = column % kCols, g = row * groups + place;
  if (!HAS_SUPER) {
    const float x_scale = call.x_scales.v[g];
    s.y = fma_once(float(sum), flushed(mul(x_scale, stored_scale(group, block, c))), s.y);
    if (HAS_MINIMA) {
      const float minimum = stored_minimum(group, block, c);
      s.y = fma_once(float(call.x_sums.v[g]), flushed(mul(x_scale, minimum)), s.y);
    }
    return;
  }
  s.of_block += multiple_of(group, block, c, part, 0u) * sum;
  if (HAS_MINIMA) s.minima += multiple_of(group, block, c, part, 1u) * call.x_sums.v[g];
  if (part + 1u < kParts) return;
  s.of_super =
      fma_once(float(s.of_block), call.x_scales.v[row * call.blocks + block], s.of_super);
  s.of_block = 0;
  if ((block + 1u) % call.blocks_per_scale != 0u) return;
  s.y = fma_once(s.of_super, stored_scale(group, block, c), s.y);
  s.of_super = 0.0;
  if (!HAS_MINIMA) return;
  const uint supers = call.blocks / call.blocks_per_scale;
  const float u_scale = call.u_scales.v[row * supers + block / call.blocks_per_scale];
  const float minimum = stored_minimum(group, block, c);
  s.y = fma_once(float(s.minima), flushed(mul(u_scale, minimum)), s.y);
  s.minima = 0;
}
