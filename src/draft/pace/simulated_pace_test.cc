#include "draft/pace/simulated_pace.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "draft/tree_growth.h"

namespace foretoken {
namespace {

using testing::ElementsAre;

TEST(SimulatedPace, the_best_path_is_as_probable_as_the_simulation_makes_it) {
  const SimulatedPace pace({1.0F, 0.5F, 0.25F});
  TreeGrowth growth;
  growth.start({.steps = 4, .topk = 2, .nodes = 16}, {}, 0.1F);
  while (growth.levels() < 4 && (growth.levels() == 0 || !growth.followed().empty())) {
    const std::size_t rows = growth.levels() == 0 ? 1 : growth.followed().size();
    std::vector<Token> tokens(2 * rows, 3);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(i);
    std::vector<float> probabilities(2 * rows, 0.001F);
    pace.rate(growth.levels(), probabilities);
    growth.add_level(tokens, probabilities);
  }
  std::vector<float> scores;
  for (const int candidate : growth.chosen()) scores.push_back(growth.score(candidate));
  EXPECT_THAT(scores, ElementsAre(1.0F, 0.5F, 0.25F));
}

TEST(SimulatedPace, the_first_candidate_is_the_one_that_may_be_accepted) {
  const SimulatedPace pace({0.5F, 0.25F});
  for (const int level : {0, 1}) {
    std::array probabilities{0.1F, 0.8F};
    pace.rate(level, probabilities);
    EXPECT_THAT(probabilities, ElementsAre(0.5F, 0.0F)) << level;
  }
}

TEST(SimulatedPace, beyond_what_is_ever_accepted_nothing_is_probable) {
  const SimulatedPace pace({0.5F, 0.0F});
  for (const int level : {1, 2, 3}) {
    std::array probabilities{0.7F, 0.2F};
    pace.rate(level, probabilities);
    EXPECT_THAT(probabilities, ElementsAre(0.0F, 0.0F)) << level;
  }
}

}  // namespace
}  // namespace foretoken
