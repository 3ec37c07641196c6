#include "draft/with_model/coupling_odds.h"

#include <algorithm>
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
    const auto found = world.draw(step);
    odds.expect(slot, temperature, std::span(found).first(4), found);
    odds.add_outcome(slot, world.drawn());
  }
}

TEST(CouplingOdds, the_smaller_the_errors_the_more_of_the_noise_counts) {
  for (const float temperature : {0.7F, 1.0F, 1.5F}) {
    float last = 1.0F;
    for (const float error : {0.0F, 0.5F, 2.0F, 8.0F}) {
      CouplingOdds odds(Coupling::kMeasured);
      odds.open(0);
      learn(odds, 0, World(error, temperature), temperature, 1500);
      EXPECT_LE(odds.noise_share(0), last) << error << " " << temperature;
      last = odds.noise_share(0);
      EXPECT_TRUE(error > 0.0F || last == 1.0F);
    }
    EXPECT_LE(last, 0.4F) << temperature;
  }
}

// The share of steps in which the first candidate by what was learned is drawn, and what it was
// promised.
struct Hits {
  double seen = 0, promised = 0;
};
Hits hits_of(const CouplingOdds& odds, World world, float temperature) {
  constexpr int kSteps = 3000;
  Hits hits;
  for (int step = 1000; step < 1000 + kSteps; ++step) {
    const auto found = world.draw(step);
    std::array<float, kTokens> chance{};
    odds.to_chances(0, temperature, found, chance);
    std::size_t best = 0;
    for (std::size_t i = 1; i < chance.size(); ++i)
      if (chance[i] > chance[best]) best = i;
    hits.promised += static_cast<double>(chance[best]) / kSteps;
    hits.seen += found[best].token == world.drawn() ? 1.0 / kSteps : 0.0;
  }
  return hits;
}

TEST(CouplingOdds, chances_are_how_often_candidates_come_true) {
  for (const float temperature : {1.0F, 2.0F})
    for (const float error : {0.3F, 0.8F, 2.0F}) {
      CouplingOdds odds(Coupling::kMeasured);
      odds.open(0);
      const World world(error, temperature);
      learn(odds, 0, world, temperature, 1000);
      const Hits hits = hits_of(odds, world, temperature);
      EXPECT_NEAR(hits.promised, hits.seen, 0.06) << error << " " << temperature;
    }
}

TEST(CouplingOdds, a_share_that_is_learned_is_as_good_as_all_of_the_noise_and_as_none) {
  for (const float error : {0.0F, 0.3F, 0.8F, 2.0F, 8.0F}) {
    CouplingOdds odds(Coupling::kMeasured);
    odds.open(0);
    learn(odds, 0, World(error, 1.0F), 1.0F, 1000);
    World world(error, 1.0F);
    const double learned = hits_of(odds, world, 1.0F).seen;
    double all = 0, none = 0;
    for (int step = 1000; step < 4000; ++step) {
      const auto found = world.draw(step);
      const auto first = [&](float share) {
        return std::ranges::max_element(
                   found, {}, [share](const Drawable& c) { return c.log_prob + share * c.noise; })
            ->token;
      };
      all += first(1.0F) == world.drawn() ? 1.0 / 3000 : 0.0;
      none += first(0.0F) == world.drawn() ? 1.0 / 3000 : 0.0;
    }
    EXPECT_GT(learned, std::max(all, none) - 0.02) << error;
  }
}

TEST(CouplingOdds, what_was_foreseen_for_certain_is_known) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  EXPECT_LT(odds.noise_share(0), 1.0F);
  const std::array<Drawable, 2> found{{{3, -0.7F, 0.0F}, {4, -0.7F, 40.0F}}};
  odds.expect(0, 1.0F, found, found);
  odds.add_outcome(0, 4);
  EXPECT_EQ(odds.noise_share(0), 1.0F);
}

TEST(CouplingOdds, noise_that_tells_too_little_is_not_followed) {
  CouplingOdds odds(Coupling::kMeasured), always(Coupling::kAlways);
  for (CouplingOdds* each : {&odds, &always}) {
    each->open(0);
    EXPECT_TRUE(each->follows_noise(0));
    learn(*each, 0, World(100.0F, 1.0F), 1.0F, 1000);
  }
  EXPECT_FALSE(odds.follows_noise(0));
  EXPECT_TRUE(always.follows_noise(0));
  EXPECT_EQ(always.noise_share(0), 1.0F);
}

TEST(CouplingOdds, where_it_is_not_followed_few_roots_are_judged) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(odds.wants_outcome(0));
  learn(odds, 0, World(100.0F, 1.0F), 1.0F, 1000);
  int judged = 0;
  for (int i = 0; i < 80; ++i) judged += odds.wants_outcome(0) ? 1 : 0;
  EXPECT_EQ(judged, 20);
}

TEST(CouplingOdds, a_new_sequence_is_like_those_before_it_and_then_itself) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  learn(odds, 0, World(0.0F, 1.0F), 1.0F, 1000);
  odds.open(1);
  EXPECT_EQ(odds.noise_share(1), 1.0F);
  EXPECT_TRUE(odds.follows_noise(1));
  learn(odds, 1, World(100.0F, 1.0F), 1.0F, 100);
  EXPECT_LT(odds.noise_share(1), 0.5F);
  EXPECT_FALSE(odds.follows_noise(1));
  EXPECT_EQ(odds.noise_share(0), 1.0F);
}

TEST(CouplingOdds, what_was_not_expected_says_nothing) {
  CouplingOdds odds(Coupling::kMeasured), same(Coupling::kMeasured);
  World world(0.0F, 1.0F);
  const auto found = world.draw(1);
  for (CouplingOdds* each : {&odds, &same}) {
    each->open(0);
    each->expect(0, 1.0F, found, found);
    each->add_outcome(0, world.drawn());
  }
  constexpr Token kNotFound = kTokens + 5;
  for (int i = 0; i < 100; ++i) odds.add_outcome(0, i % 2 == 0 ? 3 : kNotFound);
  std::array<float, kTokens> chance{}, same_chance{};
  odds.to_chances(0, 1.0F, found, chance);
  same.to_chances(0, 1.0F, found, same_chance);
  EXPECT_EQ(chance, same_chance);
}

TEST(CouplingOdds, draws_of_what_is_not_listed_lower_all_chances) {
  CouplingOdds odds(Coupling::kMeasured);
  odds.open(0);
  const std::array<Drawable, 2> found{{{3, -0.7F, 1.0F}, {4, -1.6F, 0.2F}}};
  std::array<float, 2> before{}, after{};
  odds.to_chances(0, 1.0F, found, before);
  for (int i = 0; i < 50; ++i) {
    odds.expect(0, 1.0F, found, found);
    odds.add_outcome(0, 5);
  }
  odds.to_chances(0, 1.0F, found, after);
  EXPECT_LT(after[0] + after[1], 0.2F);
  EXPECT_GT(before[0] + before[1], 0.6F);
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
