#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <span>

#include "backend/host_step.h"

namespace foretoken {
namespace {

constexpr std::size_t kLanes = 16;  // independent sums, so that the compiler may use vectors

// e^x for x <= 0, to about 2e-7: 2^n * 2^f, |f| <= 1/2, with the polynomial of exp over f.
inline float exp_of_negative(float x) {
  const float t = std::max(x, -87.0F) * 1.44269504F;
  const float shifted = t + 12582912.0F;  // 1.5 * 2^23: rounds to an integer
  const float f = (t - (shifted - 12582912.0F)) * 0.693147181F;
  const float e =
      1.0F +
      f * (1.0F +
           f * (0.5F + f * (1.66666667e-1F +
                            f * (4.16666667e-2F + f * (8.3333333e-3F + f * 1.3888889e-3F)))));
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) - 0x4b400000U + 127U) << 23;
  return e * std::bit_cast<float>(exponent);
}

float sum_of_exp(std::span<const float> row, float top) {
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += exp_of_negative(row[i + l] - top);
  for (; i < row.size(); ++i) lanes[0] += exp_of_negative(row[i] - top);
  double sum = 0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return static_cast<float>(sum);
}

// The k largest in order, by insertion: few of a long row ever beat the k-th.
void largest(std::span<const float> row, std::span<Token> tokens, std::span<float> values) {
  std::fill(tokens.begin(), tokens.end(), kNoToken);
  std::fill(values.begin(), values.end(), -std::numeric_limits<float>::infinity());
  const std::size_t k = tokens.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!(row[i] > values[k - 1])) continue;
    std::size_t place = k - 1;
    for (; place > 0 && row[i] > values[place - 1]; --place) {
      values[place] = values[place - 1];
      tokens[place] = tokens[place - 1];
    }
    values[place] = row[i];
    tokens[place] = static_cast<Token>(i);
  }
}

}  // namespace

void list_top_tokens(ThreadPool& pool, Tensor logits, int k, TopTokens& out) {
  expect(logits, {-1, -1}, DType::kF32);
  const auto rows = static_cast<std::size_t>(logits.dim(0)), width = static_cast<std::size_t>(k);
  const auto vocab = static_cast<std::size_t>(logits.dim(1));
  out.token.resize(rows * width);
  out.probability.resize(rows * width);
  const auto one_row = [&](int r, int) {
    const std::size_t first = static_cast<std::size_t>(r) * width;
    const std::span<const float> row(logits.row_f32(r), vocab);
    const auto tokens = std::span(out.token).subspan(first, width);
    const auto values = std::span(out.probability).subspan(first, width);
    largest(row, tokens, values);
    if (k == 1) {
      values[0] = 1.0F;
      return;
    }
    const float top = values[0], sum = sum_of_exp(row, top);
    for (float& value : values) value = exp_of_negative(value - top) / sum;
  };
  constexpr std::size_t kAlone = 1 << 14;  // elements that are done before workers wake up
  if (rows * vocab > kAlone && rows > 1) {
    pool.parallel_for(static_cast<int>(rows), std::cref(one_row));
  } else {
    for (std::size_t r = 0; r < rows; ++r) one_row(static_cast<int>(r), 0);
  }
}

}  // namespace foretoken
