#include "spec/budget_choice.h"

#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// A machine and a text: what steps cost and how many tokens they bring.
struct World {
  double per_step = 1, per_node = 0.05, per_growth = 0.3;  // milliseconds
  double gain = 3;        // tokens beyond the first that an endless tree would bring
  double saturation = 6;  // nodes

  double step(int sequences, int nodes) const {
    return (per_step + per_node * nodes * sequences) * 1e-3;
  }
  double growth(int nodes) const { return nodes > 1 ? per_growth * 1e-3 : 0; }
  double tokens(int nodes) const { return 1 + gain * (1 - std::exp((1 - nodes) / saturation)); }
  double rate(int sequences, int nodes) const {
    return tokens(nodes) / (step(sequences, nodes) + growth(nodes));
  }
};

class Simulation {
 public:
  explicit Simulation(int max_nodes) : choice_(max_nodes) {}

  // Tokens per second of each sequence over so many steps.
  double run(const World& world, int sequences, int steps) {
    double seconds = 0, tokens = 0;
    chosen_.clear();
    for (int i = 0; i < steps; ++i) {
      const int nodes = choice_.choose(sequences);
      ++chosen_[nodes];
      const double growth = world.growth(nodes) * noise_(random_);
      const double step = world.step(sequences, nodes) * noise_(random_);
      choice_.add_growth(sequences, nodes, growth);
      choice_.add_step(sequences, nodes, step);
      for (int s = 0; s < sequences; ++s) {
        const double mean = world.tokens(nodes) - 1;
        const int drafted = std::min(nodes - 1, std::poisson_distribution<int>(mean)(random_));
        choice_.add_tokens(nodes, 1 + (mean > 0 ? drafted : 0));
        tokens += world.tokens(nodes) / sequences;
      }
      seconds += growth + step;
    }
    return tokens / seconds;
  }

  int chosen(int nodes) { return chosen_[nodes]; }

 private:
  BudgetChoice choice_;
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> noise_{0.9, 1.1};
  std::map<int, int> chosen_;
};

double best_rate(const World& world, int sequences) {
  double best = 0;
  for (const int nodes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64})
    best = std::max(best, world.rate(sequences, nodes));
  return best;
}

TEST(BudgetChoice, no_room_for_proposals_means_one_node) {
  BudgetChoice choice(1);
  EXPECT_EQ(choice.choose(1), 1);
  EXPECT_EQ(choice.choose(100), 1);
}

TEST(BudgetChoice, begins_with_the_tree_that_was_asked_for) {
  BudgetChoice choice(20);
  EXPECT_EQ(choice.choose(3), 20);
}

TEST(BudgetChoice, comes_close_to_the_best_size) {
  for (const double per_node : {0.001, 0.02, 0.1, 0.5}) {
    const World world{.per_node = per_node};
    EXPECT_GT(Simulation(64).run(world, 1, 4000), 0.93 * best_rate(world, 1)) << per_node;
  }
}

TEST(BudgetChoice, poor_drafts_cost_next_to_nothing) {
  const World world{.gain = 0};
  Simulation simulation(16);
  simulation.run(world, 1, 200);
  EXPECT_GT(simulation.run(world, 1, 2000), 0.98 * world.rate(1, 1));
  EXPECT_GT(simulation.chosen(1), 1900);
}

TEST(BudgetChoice, large_batches_have_smaller_trees) {
  const World world{.per_node = 0.05};
  Simulation simulation(64);
  simulation.run(world, 1, 1000);
  EXPECT_GT(simulation.run(world, 1, 1000), 0.95 * best_rate(world, 1));
  simulation.run(world, 64, 200);
  EXPECT_GT(simulation.run(world, 64, 1000), 0.95 * best_rate(world, 64));
}

TEST(BudgetChoice, returns_to_drafting_when_the_text_becomes_easy) {
  Simulation simulation(16);
  simulation.run({.gain = 0}, 1, 1000);
  simulation.run({.gain = 4}, 1, 2000);
  const World easy{.gain = 4};
  EXPECT_GT(simulation.run(easy, 1, 1000), 0.9 * best_rate(easy, 1));
}

TEST(BudgetChoice, one_slow_step_changes_nothing) {
  const World world{.per_node = 0.001};
  BudgetChoice choice(4);
  const auto feed = [&](double seconds) {
    const int nodes = choice.choose(1);
    choice.add_growth(1, nodes, world.growth(nodes));
    choice.add_step(1, nodes, seconds > 0 ? seconds : world.step(1, nodes));
    choice.add_tokens(nodes, nodes);
    return nodes;
  };
  for (int i = 0; i < 400; ++i) feed(0);
  while (feed(10) != 4) {
  }
  int largest = 0;
  for (int i = 0; i < 100; ++i) largest += feed(0) == 4;
  EXPECT_GT(largest, 90);
}

}  // namespace
}  // namespace foretoken
