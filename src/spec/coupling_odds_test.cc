#include "spec/coupling_odds.h"

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace foretoken {
namespace {

constexpr int kTokens = 6;

// A target whose logits are the draft model's, steeper and with Gumbel errors of a size.
class World {
 public:
  World(float error, float temperature) : error_(error), temperature_(temperature) {}

  // Candidates by the draft model, in the order of its sums of log-probability and noise.
  std::vector<Drawable> draw(int step) {
    std::array<float, kTokens> draft{};
    float sum = 0;
    for (int t = 0; t < kTokens; ++t) {
      draft[static_cast<std::size_t>(t)] = 3.0F * uniform24(random(step, t, 1)) / temperature_;
      sum += std::exp(draft[static_cast<std::size_t>(t)]);
    }
    std::vector<Drawable> found;
    float best = -1e9F;
    for (int t = 0; t < kTokens; ++t) {
      const float log_prob = draft[static_cast<std::size_t>(t)] - std::log(sum);
      const float noise = gumbel_noise(5, step, t);
      const float steepness = std::sqrt(1 + error_ * error_);
      const float value =
          steepness * log_prob + noise + error_ / temperature_ * gumbel_noise(77, step, t);
      found.push_back({.token = t, .log_prob = log_prob, .noise = noise});
      if (value <= best) continue;
      best = value;
      drawn_ = t;
    }
    return found;
  }
  Token drawn() const { return drawn_; }

 private:
  static std::uint32_t random(int step, int token, unsigned use) {
    return philox({static_cast<unsigned>(step), static_cast<unsigned>(token), use, 0}, 9)[0];
  }
  float error_, temperature_;
  Token drawn_ = kNoToken;
};

void learn(CouplingOdds& odds, SeqSlot slot, World world, float temperature, int steps) {
  for (int step = 0; step < steps; ++step) {
    odds.expect(slot, temperature, world.draw(step));
    odds.add_outcome(slot, world.drawn());
  }
}

TEST(CouplingOdds, the_size_of_errors_is_found) {
  for (const float temperature : {0.7F, 1.0F, 1.5F})
    for (const std::size_t error : {0U, 2U, 4U, 6U}) {
      CouplingOdds odds(Coupling::kMeasured);
      odds.open(0);
      learn(odds, 0, World(CouplingOdds::kErrors[error], temperature), temperature, 1500);
      EXPECT_NEAR(static_cast<double>(odds.best_error(0)), static_cast<double>(error), 1.0)
          << temperature;
    }
}

TEST(CouplingOdds, chances_are_how_often_candidates_come_true) {
  for (const float error : {0.3F, 0.8F, 2.0F}) {
    CouplingOdds odds(Coupling::kMeasured);
    odds.open(0);
    World world(error, 1.0F);
    learn(odds, 0, world, 1.0F, 1000);
    double promised = 0, seen = 0;
    for (int step = 1000; step < 4000; ++step) {
      const auto found = world.draw(step);
      std::array<float, kTokens> chance{};
      odds.to_chances(0, 1.0F, found, chance);
      std::size_t best = 0;
      for (std::size_t i = 1; i < chance.size(); ++i)
        if (chance[i] > chance[best]) best = i;
      promised += static_cast<double>(chance[best]) / 3000;
      seen += found[best].token == world.drawn() ? 1.0 / 3000 : 0.0;
    }
    EXPECT_NEAR(promised, seen, 0.06) << error;
  }
}

TEST(CouplingOdds, where_errors_are_large_the_noise_counts_for_nothing) {
  CouplingOdds odds(Coupling::kMeasured), always(Coupling::kAlways);
  for (CouplingOdds* each : {&odds, &always}) {
    each->open(0);
    learn(*each, 0, World(100.0F, 1.0F), 1.0F, 1000);
  }
  EXPECT_LT(odds.noise_share(0), 0.3F);
  EXPECT_EQ(always.noise_share(0), 1.0F);
}

TEST(CouplingOdds, where_there_are_none_the_noise_counts_in_full) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  EXPECT_LT(odds.noise_share(0), 1.0F);
  learn(odds, 0, World(0.0F, 1.0F), 1.0F, 200);
  EXPECT_EQ(odds.noise_share(0), 1.0F);
}

TEST(CouplingOdds, a_new_sequence_is_like_those_before_it_and_then_itself) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  odds.open(1);
  learn(odds, 0, World(0.0F, 1.0F), 1.0F, 1000);
  EXPECT_EQ(odds.noise_share(1), 1.0F);
  odds.open(0);
  EXPECT_EQ(odds.noise_share(0), 1.0F);
  learn(odds, 1, World(100.0F, 1.0F), 1.0F, 200);
  EXPECT_LT(odds.noise_share(1), 0.5F);
}

TEST(CouplingOdds, what_was_not_expected_says_nothing) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  World world(0.0F, 1.0F);
  odds.expect(0, 1.0F, world.draw(1));
  const float share = odds.noise_share(0);
  odds.add_outcome(0, world.drawn());
  for (int i = 0; i < 100; ++i) odds.add_outcome(0, 3);
  CouplingOdds same(Coupling::kMeasured);
  same.open(0);
  same.expect(0, 1.0F, world.draw(1));
  same.add_outcome(0, world.drawn());
  EXPECT_EQ(odds.best_error(0), same.best_error(0));
  EXPECT_LT(share, 1.0F);
}

TEST(CouplingOdds, what_is_none_has_no_chance) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  const std::array<Drawable, 3> found{{{3, -0.5F, 1.0F}, {4, -1.0F, 0.2F}, {}}};
  std::array<float, 3> chance{};
  odds.to_chances(0, 1.0F, found, chance);
  EXPECT_GT(chance[0], chance[1]);
  EXPECT_EQ(chance[2], 0.0F);
  const std::array<Drawable, 2> none{};
  odds.to_chances(0, 1.0F, none, std::span(chance).first(2));
  EXPECT_EQ(chance[0], 0.0F);
}

}  // namespace
}  // namespace foretoken
