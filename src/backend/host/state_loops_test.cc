// The loops of layers that keep a state against plain ones that spell out the order of each sum,
// byte for byte, also where sizes are no multiples of a vector.

#include "backend/host/state_loops.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"
#include "batch/lanes.h"

namespace foretoken {
namespace {

using Floats = std::vector<float>;

class StateLoopsOrder : public testing::TestWithParam<int> {
 protected:
  Floats random(int n) {
    std::normal_distribution<float> normal;
    Floats made(at(n));
    for (float& value : made) value = normal(random_);
    return made;
  }
  std::vector<Floats> random_rows(int count, int n) {
    std::vector<Floats> made;
    for (int i = 0; i < count; ++i) made.push_back(random(n));
    return made;
  }
  static std::vector<const float*> pointers(const std::vector<Floats>& rows) {
    std::vector<const float*> found;
    for (const Floats& row : rows) found.push_back(row.data());
    return found;
  }

  const StateLoops& loops_ = state_loops();
  std::mt19937 random_{11};
};

float plain_dot(const Floats& a, const Floats& b) {
  float lane[16] = {};
  for (std::size_t i = 0; i < a.size(); ++i) lane[i % 16] += a[i] * b[i];
  for (int half = 8; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

float plain_sigmoid(float x) {
  const float e = exp_nonpositive(-std::abs(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

TEST_P(StateLoopsOrder, dot_products) {
  const int n = GetParam();
  const auto rows = random_rows(5, n);
  const Floats x = random(n);
  Floats found(5);
  loops_.dots(x.data(), pointers(rows).data(), 5, n, found.data());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(found[at(i)], plain_dot(x, rows[at(i)]));
    EXPECT_EQ(loops_.dot(x.data(), rows[at(i)].data(), n), found[at(i)]);
  }
}

TEST_P(StateLoopsOrder, sums_of_rows) {
  const int n = GetParam();
  const auto rows = random_rows(7, n);
  const Floats factors = random(7);
  Floats found = random(n), known = found;
  loops_.add_scaled(found.data(), pointers(rows).data(), factors.data(), 7, n);
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < n; ++j) known[at(j)] += factors[at(i)] * rows[at(i)][at(j)];
  EXPECT_EQ(found, known);
}

TEST_P(StateLoopsOrder, rows_through_a_state) {
  constexpr int kKeys = 13;
  const int values = GetParam();
  const Floats state = random(kKeys * values);
  for (const int count : {1, 2, 3, 7, 11}) {
    const auto x = random_rows(count, kKeys);
    std::vector<Floats> found(at(count), Floats(at(values)));
    std::vector<float*> out;
    for (Floats& row : found) out.push_back(row.data());
    loops_.read(state.data(), kKeys, values, pointers(x).data(), count, out.data());
    for (int r = 0; r < count; ++r)
      for (int j = 0; j < values; ++j) {
        float sum = 0;
        for (int d = 0; d < kKeys; ++d) sum += x[at(r)][at(d)] * state[at(d * values + j)];
        EXPECT_EQ(found[at(r)][at(j)], sum) << count << " rows, " << r << ", " << j;
      }
  }
}

TEST_P(StateLoopsOrder, a_state_that_goes_on) {
  constexpr int kKeys = 13, kItems = 9;
  const int values = GetParam();
  const auto keys = random_rows(kItems, kKeys), updates = random_rows(kItems, values);
  for (const bool is_first : {true, false}) {
    Floats state = random(kKeys * values);
    const Floats before = state;
    loops_.advance({.from = is_first ? nullptr : state.data(),
                    .to = state.data(),
                    .key_dim = kKeys,
                    .value_dim = values,
                    .decay = 0.7F,
                    .keys = pointers(keys).data(),
                    .updates = pointers(updates).data(),
                    .items = kItems});
    for (int d = 0; d < kKeys; ++d)
      for (int j = 0; j < values; ++j) {
        float sum = is_first ? 0.0F : 0.7F * before[at(d * values + j)];
        for (int i = 0; i < kItems; ++i) sum += keys[at(i)][at(d)] * updates[at(i)][at(j)];
        EXPECT_EQ(state[at(d * values + j)], sum) << d << ", " << j;
      }
  }
}

TEST_P(StateLoopsOrder, decays_and_factors) {
  const int n = GetParam();
  Floats before = random(n), found(at(n)), scaled(at(n));
  for (float& value : before) value = 3.0F + std::abs(value) * 20.0F;
  loops_.decays(before.data(), n, 2.5F, found.data());
  loops_.scale(scaled.data(), before.data(), 0.3F, n);
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(found[at(i)], exp_nonpositive(2.5F - before[at(i)]));
    EXPECT_EQ(scaled[at(i)], 0.3F * before[at(i)]);
  }
}

TEST_P(StateLoopsOrder, convolutions) {
  constexpr int kTaps = 3;
  const int channels = GetParam();
  const auto inputs = random_rows(kTaps, channels);
  const Floats weights = random(kTaps * channels), bias = random(channels);
  for (const bool has_bias : {false, true})
    for (const bool has_silu : {false, true})
      for (const int absent : {0, 2}) {  // inputs before the text
        auto rows = pointers(inputs);
        for (int t = 0; t < absent; ++t) rows[at(t)] = nullptr;
        Floats found(at(channels));
        loops_.convolve({.inputs = rows.data(),
                         .weights = weights.data(),
                         .bias = has_bias ? bias.data() : nullptr,
                         .taps = kTaps,
                         .channels = channels,
                         .has_silu = has_silu},
                        found.data());
        for (int i = 0; i < channels; ++i) {
          float sum = has_bias ? bias[at(i)] : 0.0F;
          for (int t = absent; t < kTaps; ++t)
            sum += weights[at(t * channels + i)] * inputs[at(t)][at(i)];
          EXPECT_EQ(found[at(i)], has_silu ? sum * plain_sigmoid(sum) : sum);
        }
      }
}

TEST_P(StateLoopsOrder, gates) {
  const int n = GetParam();
  const Floats x = random(n);
  Floats gate = random(n);
  for (float& value : gate) value *= 30.0F;
  const auto gated = [&](GateCurve curve) {
    Floats found = x;
    loops_.gate[static_cast<std::size_t>(curve)](found.data(), gate.data(), n);
    return found;
  };
  const Floats sigmoid = gated(GateCurve::kSigmoid), silu = gated(GateCurve::kSilu),
               none = gated(GateCurve::kNone);
  for (int i = 0; i < n; ++i) {
    const float g = gate[at(i)], curve = plain_sigmoid(g);
    EXPECT_EQ(sigmoid[at(i)], x[at(i)] * curve);
    EXPECT_EQ(silu[at(i)], x[at(i)] * (g * curve));
    EXPECT_EQ(none[at(i)], x[at(i)] * g);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, StateLoopsOrder, testing::Values(3, 16, 24, 64, 90, 128));

}  // namespace
}  // namespace foretoken
