// One head of a row on its way to the cache: its norm, its rotation, and the words that are kept of
// it. VARIANT: KIND of kv_formats.glsl | IS_LARGE << 8. Who includes this has a `call` with
// cosines, sines [positions][pairs], positions, rotary and pairs.
const uint KIND = VARIANT & 0xffu;
const uint kMostDims = (VARIANT & 0x100u) != 0u ? 1024u : 256u;

shared float head[kMostDims];    // as it comes
shared float turned[kMostDims];  // as it is kept
shared float chains[16];
shared float reaches[64];

// The first `width` elements.
void normalise(uint t, uint width, float eps, Floats weights) {
  if (t < 16u) {
    float squares = 0.0;
    for (uint i = t; i < width; i += 16u) squares = fma_once(head[i], head[i], squares);
    chains[t] = squares;
  }
  barrier();
  float sum[16];
  for (uint i = 0; i < 16u; ++i) sum[i] = chains[i];
  for (uint half_ = 8u; half_ > 0u; half_ /= 2u)
    for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  const float mean = flushed(div(sum[0], float(width)));
  const float scale = div(1.0, square_root(add(mean, eps)));
  for (uint i = t; i < width; i += 64u)
    head[i] = flushed(mul(flushed(mul(head[i], scale)), flushed(weights.v[i])));
  barrier();
}

// Elements [first, first + rotary): pairs are neighbours, or lie half of that apart; turned, they
// lie half of it apart.
void rotate(uint t, uint first, uint row, bool pairs_neighbours) {
  const uint half_ = call.rotary / 2u, at = uint(call.positions.v[row]) * call.pairs;
  for (uint i = t; i < half_; i += 64u) {
    const float a = head[first + (pairs_neighbours ? 2u * i : i)];
    const float b = head[first + (pairs_neighbours ? 2u * i + 1u : half_ + i)];
    float low = a, high = b;
    if (i < call.pairs) {
      const float c = call.cosines.v[at + i], s = call.sines.v[at + i];
      low = flushed(sub(flushed(mul(a, c)), flushed(mul(b, s))));
      high = flushed(add(flushed(mul(b, c)), flushed(mul(a, s))));
    }
    turned[first + i] = low;
    turned[first + half_ + i] = high;
  }
}
void keep(uint t, uint first, uint end) {
  for (uint i = first + t; i < end; i += 64u) turned[i] = head[i];
}

// The greatest magnitude of the row; infinity where a value is not finite.
float reach_of_row(uint t, uint dim) {
  float most = 0.0;
  for (uint i = t; i < dim; i += 64u) {
    const float a = absolute(turned[i]);
    if (!(a <= most)) most = is_nan(a) ? infinity() : a;
  }
  reaches[t] = most;
  barrier();
  for (uint i = 0; i < 64u; ++i) most = most < reaches[i] ? reaches[i] : most;
  return most;
}

// Of codes: their scale, and what values are multiplied by; 0: all codes are 0.
struct Scaled {
  float scale, inverse;
};
Scaled scaled_row(uint t, uint dim) {
  Scaled of = {0.0, 0.0};
  if (!is_code(KIND)) return of;
  const float reach = reach_of_row(t, dim), last = last_code(KIND);
  if (!(reach < infinity())) {
    of.scale = uintBitsToFloat(0x7fc00000u);
  } else if (reach >= 7.888609052210118e-31) {  // 2^-100
    of.scale = div(reach, last);
    of.inverse = div(last, reach);
  }
  return of;
}

// Word i of the row.
uint word_of_row(uint i, float inverse) {
  if (KIND == kKvF32) return floatBitsToUint(turned[i]);
  if (!is_code(KIND)) {
    const float low = turned[2u * i], high = turned[2u * i + 1u];
    return KIND == kKvF16 ? f16_bits(low) | (f16_bits(high) << 16) : bf16_pair(low, high);
  }
  uint word = 0u;
  if (inverse == 0.0) return word;
  for (uint j = 0; j < 4u; ++j)
    word |= code_of(KIND, flushed(mul(turned[4u * i + j], inverse))) << (8u * j);
  return word;
}
