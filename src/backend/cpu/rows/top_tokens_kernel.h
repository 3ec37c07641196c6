#pragma once
// The most probable tokens of one row of logits. For translation units of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

// Keeps the k largest in order, by insertion.
FT_INLINE void insert_token(float value, std::int32_t token, int k, std::int32_t* tokens,
                            float* values) {
  if (!(value > values[k - 1])) return;
  int place = k - 1;
  for (; place > 0 && value > values[place - 1]; --place) {
    values[place] = values[place - 1];
    tokens[place] = tokens[place - 1];
  }
  values[place] = value;
  tokens[place] = token;
}

// Few stretches of a long row hold anything above the k-th largest so far; the others cost four
// comparisons. What is not a number never counts.
void largest_tokens(const float* row, std::int64_t vocab, int k, std::int32_t* tokens,
                    float* values) {
  constexpr std::int64_t kStretch = 64;
  const float lowest = -__builtin_inff();
  for (int i = 0; i < k; ++i) {
    tokens[i] = -1;
    values[i] = lowest;
  }
  std::int64_t start = 0;
  for (; start + kStretch <= vocab; start += kStretch) {
    V16 top = set1(lowest);
    for (std::int64_t i = start; i < start + kStretch; i += 16) top = max(load(row + i), top);
    if (!(reduce_max(top) > values[k - 1])) continue;
    for (std::int64_t i = start; i < start + kStretch; ++i)
      insert_token(row[i], static_cast<std::int32_t>(i), k, tokens, values);
  }
  for (; start < vocab; ++start)
    insert_token(row[start], static_cast<std::int32_t>(start), k, tokens, values);
}

// values: their probabilities, by the softmax over the row; for k = 1 just 1.
void top_tokens_row(const float* row, std::int64_t vocab, int k, std::int32_t* tokens,
                    float* values) {
  largest_tokens(row, vocab, k, tokens, values);
  if (k == 1) {
    values[0] = 1.0F;
    return;
  }
  const V16 top = set1(values[0]);
  V16 sum = zero();
  std::int64_t i = 0;
  for (; i + 16 <= vocab; i += 16) sum = add(sum, exp(sub(load(row + i), top)));
  if (i < vocab) {
    float rest[16];
    for (int lane = 0; lane < 16; ++lane)
      rest[lane] = i + lane < vocab ? row[i + lane] : -__builtin_inff();
    sum = add(sum, exp(sub(load(rest), top)));
  }
  const V16 total = set1(reduce_sum(sum));
  for (int first = 0; first < k; first += 16) {
    float some[16] = {};
    const int count = k - first < 16 ? k - first : 16;
    for (int lane = 0; lane < count; ++lane) some[lane] = values[first + lane];
    store(some, div(exp(sub(load(some), top)), total));
    for (int lane = 0; lane < count; ++lane) values[first + lane] = some[lane];
  }
}

}  // namespace
}  // namespace foretoken
