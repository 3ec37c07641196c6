// What rows of logits are searched for (row_search.h): the tokens of the greatest values. A value is
// the logit itself, cleaned as the sampler does, or with the sampler's noise on top. Noise and
// quotients are not the sampler's to the bit: floors lie low enough for that (slack), and who reads
// the tokens computes them again.
struct Search {
  uint row;        // of the logits
  uint count;      // whose values make the floor
  uint is_exact;   // these tokens alone, best first; else all that may be among them, by id
  uint is_raw;     // values are not cleaned
  uint has_noise;
  float temperature;
  float most, slack, slack_share;  // the floor: min(value, most) - slack - slack_share * |value|
  uint seed_low, seed_high, position_low, position_high;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Searches { Search v[]; };

const float kLargest = 1e30;

float cleaned(float x) {
  if (is_nan(x) || x < -kLargest) return -infinity();
  return x < kLargest ? x : kLargest;
}

float log_of(float x) {
  const uint bits = floatBitsToUint(x);
  const int exponent = int(bits - 0x3f3504f3u) >> 23;
  const float m = uintBitsToFloat(bits - (uint(exponent) << 23));
  const float s = (m - 1.0) / (m + 1.0), z = s * s;
  const float series = (((1.0 / 9.0 * z + 1.0 / 7.0) * z + 1.0 / 5.0) * z + 1.0 / 3.0) * z;
  return float(exponent) * 0.69314718056 + (2.0 * s + 2.0 * s * series);
}
float noise_of(uint word) {
  const float u = (float(word >> 9) + 0.5) * (1.0 / 8388608.0);
  return -log_of(-log_of(u));
}

// The words behind the noise of tokens 4 * quad to 4 * quad + 3.
uvec4 noise_words(Search s, uint quad) {
  uvec4 c = uvec4(quad, s.position_low, s.position_high, 0x67756d62u);
  uint k0 = s.seed_low, k1 = s.seed_high;
  for (uint round_ = 0; round_ < 10u; ++round_) {
    uint high0, low0, high1, low1;
    umulExtended(0xd2511f53u, c.x, high0, low0);
    umulExtended(0xcd9e8d57u, c.z, high1, low1);
    c = uvec4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return c;
}

// The values of four tokens; minus infinity: never found.
vec4 values_of(Search s, Floats logits, uint width, uint quad) {
  vec4 x = vec4(-infinity());
  for (uint i = 0; i < 4u; ++i)
    if (quad * 4u + i < width) x[i] = flushed(logits.v[s.row * width + quad * 4u + i]);
  if (s.is_raw != 0u) {
    for (uint i = 0; i < 4u; ++i)
      if (is_nan(x[i])) x[i] = -infinity();
    return x;
  }
  if (s.has_noise == 0u) return vec4(cleaned(x.x), cleaned(x.y), cleaned(x.z), cleaned(x.w));
  const uvec4 words = noise_words(s, quad);
  for (uint i = 0; i < 4u; ++i) x[i] = cleaned(x[i] / s.temperature) + noise_of(words[i]);
  return x;
}
