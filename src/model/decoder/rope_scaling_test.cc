// Scaled rotary frequencies of models with an original length of thousands, where every bound of
// the formulas is reached, against the formulas of Hugging Face's modeling_rope_utils written out
// in double precision, and some of their values as numbers.

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/index.h"
#include "model/decoder/rope.h"
#include "model/testing/rope_table_kit.h"

namespace foretoken {
namespace {

using Kind = RopeScaling::Kind;

ModelConfig config_of(Kind kind, int head_dim, double theta, int original, double factor) {
  ModelConfig config;
  config.head_dim = head_dim;
  config.rope_theta = theta;
  config.max_position = static_cast<int>(original * factor);
  config.context_length = 8192;  // as far as the tables are looked at
  config.rope.kind = kind;
  config.rope.factor = factor;
  config.rope.original_max_position = original;
  return config;
}

// theta^(-2i/d) of every pair.
std::vector<double> plain(double theta, int head_dim) {
  std::vector<double> inverse;
  for (int i = 0; i < head_dim / 2; ++i) inverse.push_back(std::pow(theta, -2.0 * i / head_dim));
  return inverse;
}

// YaRN: pairs that turn beta_fast times or more within the original length are kept, those that
// turn beta_slow times or less are divided by the factor, and between the two pairs a ramp leads.
std::vector<double> yarn(const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  const double original = *rope.original_max_position;
  const auto correction_dim = [&](double rotations) {
    return config.head_dim * std::log(original / (rotations * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(config.rope_theta));
  };
  double low = correction_dim(rope.beta_fast), high = correction_dim(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  if (low < 0.0) low = 0.0;
  if (high > config.head_dim - 1.0) high = config.head_dim - 1.0;
  if (low == high) high += 0.001;
  std::vector<double> inverse = plain(config.rope_theta, config.head_dim);
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    double ramp = (static_cast<double>(i) - low) / (high - low);
    ramp = ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
    inverse[i] = inverse[i] / *rope.factor * ramp + inverse[i] * (1.0 - ramp);
  }
  return inverse;
}

// Llama 3: wavelengths below original / high are kept, those above original / low are stretched by
// the factor, those between are mixed by how often they fit into the original length.
std::vector<double> llama3(const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  const double original = *rope.original_max_position;
  std::vector<double> inverse = plain(config.rope_theta, config.head_dim);
  for (double& frequency : inverse) {
    const double turns = original * frequency / (2.0 * std::numbers::pi);
    const double kept =
        (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
    const double clamped = kept < 0.0 ? 0.0 : kept > 1.0 ? 1.0 : kept;
    frequency = clamped * frequency + (1.0 - clamped) * frequency / *rope.factor;
  }
  return inverse;
}

// The factor's power of the base by which the longest wavelength comes to `length` positions.
std::vector<double> dynamic(const ModelConfig& config) {
  const double dim = config.head_dim, trained = config.max_position, factor = *config.rope.factor;
  const double growth = factor * config.context_length / trained - (factor - 1.0);
  return plain(config.rope_theta * std::pow(growth, dim / (dim - 2.0)), config.head_dim);
}

void expect_frequencies(const ModelConfig& config, const std::vector<double>& expected,
                        const std::string& what) {
  const auto found = rope_frequencies(config).inverse;
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i] / expected[i], 1.0, 3e-6) << what << ", pair " << i;
}

// The table at positions of thousands. An angle is a product of float32: off by so much.
void expect_table(const ModelConfig& config, const std::vector<double>& expected,
                  double magnitude) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  const RopeTable table = whole_rope_table(*ops, config);
  for (const int position : {1, 1023, 4095, 4096, 5001, 8191})
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double angle = position * expected[i], error = angle * 4e-6 + 1e-6;
      const auto pair = static_cast<std::int64_t>(i);
      ASSERT_NEAR(table.cos.row_f32(position)[pair], magnitude * std::cos(angle), error)
          << position << ", pair " << i;
      ASSERT_NEAR(table.sin.row_f32(position)[pair], magnitude * std::sin(angle), error)
          << position << ", pair " << i;
    }
}

TEST(RopeScaling, yarn_keeps_short_wavelengths_and_stretches_long_ones) {
  struct Case {
    const char* what;
    int head_dim;
    double theta;
    int original;
    double factor;
    double beta_fast = 32.0, beta_slow = 1.0;
    bool truncate = true;
  };
  for (const Case& c :
       {Case{"like Qwen's", 128, 1e6, 32768, 4.0}, Case{"like DeepSeek's", 64, 1e4, 4096, 40.0},
        Case{"few turns", 64, 1e4, 4096, 16.0, 8.0, 2.0},
        Case{"bounds between pairs", 64, 1.5e5, 4096, 32.0, 32.0, 1.0, false},
        Case{"the ramp ends behind the last pair", 64, 50.0, 32768, 8.0},
        Case{"a bound between two pairs, both ends equal", 64, 1e4, 4096, 4.0, 4.0, 4.0, false}}) {
    ModelConfig config = config_of(Kind::kYarn, c.head_dim, c.theta, c.original, c.factor);
    config.rope.beta_fast = c.beta_fast;
    config.rope.beta_slow = c.beta_slow;
    config.rope.truncate = c.truncate;
    expect_frequencies(config, yarn(config), c.what);
  }
}

// log(4096 / 64 pi) / log(10000) * 32 = 10.47: pairs 0 to 10 are kept. log(4096 / 2 pi) /
// log(10000)
// * 32 = 22.51: pairs from 23 on are divided. Pair 16 lies 6 / 13 between.
TEST(RopeScaling, yarn_at_the_ends_of_its_ramp) {
  const auto inverse = rope_frequencies(config_of(Kind::kYarn, 64, 1e4, 4096, 4.0)).inverse;
  EXPECT_EQ(inverse[0], 1.0F);
  EXPECT_NEAR(inverse[10], 0.0562341325, 1e-8);
  EXPECT_NEAR(inverse[11], 0.0421696503 * (1.0 - 0.75 / 13.0), 1e-8);
  EXPECT_NEAR(inverse[16], 0.01 * (1.0 - 0.75 * 6.0 / 13.0), 1e-8);
  EXPECT_NEAR(inverse[22], 0.00177827941 * (1.0 - 0.75 * 12.0 / 13.0), 1e-9);
  EXPECT_NEAR(inverse[23], 0.00133352143 / 4.0, 1e-9);
  EXPECT_NEAR(inverse[31], 0.000133352143 / 4.0, 1e-10);
}

TEST(RopeScaling, yarn_turns_rows_at_positions_of_thousands) {
  const ModelConfig config = config_of(Kind::kYarn, 64, 1e4, 4096, 4.0);
  expect_table(config, yarn(config), 0.1 * std::log(4.0) + 1.0);
}

TEST(RopeScaling, llama3_reaches_both_of_its_bounds) {
  for (const int original : {2048, 8192}) {
    ModelConfig config = config_of(Kind::kLlama3, 128, 5e5, original, 8.0);
    config.rope.low_freq_factor = 1.0;
    config.rope.high_freq_factor = 4.0;
    const auto expected = llama3(config);
    const auto first = plain(5e5, 128);
    EXPECT_EQ(expected.front(), first.front());
    EXPECT_EQ(expected.back(), first.back() / 8.0);
    expect_frequencies(config, expected, std::to_string(original));
    expect_table(config, expected, 1.0);
  }
}

// As Llama 4 has it: nothing lies between the bounds.
TEST(RopeScaling, llama3_may_have_one_bound) {
  ModelConfig config = config_of(Kind::kLlama3, 128, 5e5, 8192, 16.0);
  config.rope.low_freq_factor = config.rope.high_freq_factor = 1.0;
  auto expected = plain(5e5, 128);
  for (double& frequency : expected)
    if (2.0 * std::numbers::pi / frequency > 8192) frequency /= 16.0;
  expect_frequencies(config, expected, "one bound");
}

TEST(RopeScaling, dynamic_scaling_at_positions_of_thousands) {
  ModelConfig config = config_of(Kind::kDynamic, 64, 1e4, 4096, 2.0);
  config.max_position = 4096;
  config.context_length = 3 * 4096;
  const auto expected = dynamic(config);
  EXPECT_NEAR(expected.back() / plain(1e4, 64).back(), 1.0 / 5.0, 1e-9);
  expect_frequencies(config, expected, "three times the trained length");
  expect_table(config, expected, 1.0);
}

TEST(RopeScaling, linear_scaling_at_positions_of_thousands) {
  const ModelConfig config = config_of(Kind::kLinear, 64, 1e4, 4096, 4.0);
  std::vector<double> expected = plain(1e4, 64);
  for (double& frequency : expected) frequency /= 4.0;
  expect_table(config, expected, 1.0);
}

TEST(RopeScaling, longrope_stretches_each_pair_by_its_own_factor) {
  ModelConfig config = config_of(Kind::kLongRope, 64, 1e4, 4096, 32.0);
  config.context_length = 12000;
  std::vector<double> expected = plain(1e4, 64);
  for (int i = 0; i < 32; ++i) {
    config.rope.short_factor.push_back(1.0 + 0.01 * i);
    config.rope.long_factor.push_back(1.0 + 1.5 * i);
    expected[at(i)] /= config.rope.long_factor.back();
  }
  expect_table(config, expected, std::sqrt(1.0 + std::log(32.0) / std::log(4096.0)));
}

}  // namespace
}  // namespace foretoken
