#include "spec/draft_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

struct Wish {
  std::optional<int> steps, topk, nodes;
};

std::string shape(const std::string& algorithm, const Wish& wish = {},
                  const std::string& architecture = "LlamaForCausalLM") {
  DraftOptions options;
  options.algorithm = algorithm;
  options.steps = wish.steps;
  options.topk = wish.topk;
  options.nodes = wish.nodes;
  try {
    const TreeShape chosen = choose_tree_shape(options, architecture);
    return fmt::format("{} {} {}", chosen.steps, chosen.topk, chosen.nodes);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(DraftOptions, names_are_known_in_any_case) {
  EXPECT_EQ(algorithm_named("standalone"), "STANDALONE");
  EXPECT_EQ(algorithm_named(""), "");
  EXPECT_EQ(algorithm_named("nextn"), "EAGLE");
  EXPECT_EQ(algorithm_named("Eagle3"), "EAGLE3");
  try {
    algorithm_named("MAGIC");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "Unknown speculative algorithm name: MAGIC");
  }
  EXPECT_EQ(algorithm_named("ngram"), "NGRAM");
  EXPECT_EQ(algorithm_named("Suffix"), "SUFFIX");
  EXPECT_THROW(algorithm_named("DSPARK"), Error);
}

TEST(DraftOptions, shapes_are_chosen_by_algorithm_and_target) {
  EXPECT_EQ(shape("STANDALONE"), "3 1 4");
  EXPECT_EQ(shape("EAGLE"), "5 4 8");
  EXPECT_EQ(shape("EAGLE3"), "5 4 8");
  EXPECT_EQ(shape("EAGLE", {}, "Qwen2ForCausalLM"), "3 1 4");
}

TEST(DraftOptions, what_is_asked_for_stays_and_the_rest_follows) {
  EXPECT_EQ(shape("STANDALONE", {.steps = 4, .topk = 2, .nodes = 7}), "4 2 7");
  EXPECT_EQ(shape("EAGLE", {.steps = 5, .topk = 8, .nodes = 64}), "5 8 64");
  EXPECT_EQ(shape("STANDALONE", {.steps = 4, .topk = {}, .nodes = {}}), "4 1 5");
  EXPECT_EQ(shape("STANDALONE", {.steps = {}, .topk = 1, .nodes = 5}), "3 1 4");
  EXPECT_EQ(shape("EAGLE", {.steps = 3, .topk = 2, .nodes = {}}), "3 2 11");
  EXPECT_EQ(shape("EAGLE", {.steps = {}, .topk = 8, .nodes = 64}), "5 8 64");
}

TEST(DraftOptions, a_chain_is_verified_whole) {
  EXPECT_EQ(shape("STANDALONE", {.steps = 4, .topk = 1, .nodes = 9}), "4 1 5");
}

TEST(DraftOptions, trees_of_ngrams_are_as_large_as_asked_or_as_the_window) {
  EXPECT_EQ(shape("NGRAM"), "1 10 12");
  EXPECT_EQ(shape("NGRAM", {.steps = {}, .topk = {}, .nodes = 32}), "3 10 32");
  EXPECT_EQ(shape("NGRAM", {.steps = 5, .topk = 2, .nodes = 16}), "5 10 16");
  EXPECT_NE(shape("NGRAM", {.steps = {}, .topk = {}, .nodes = 65}).find("at most 64"),
            std::string::npos);
}

TEST(DraftOptions, more_nodes_than_the_tree_has_are_refused) {
  EXPECT_NE(shape("EAGLE", {.steps = 2, .topk = 2, .nodes = 8}).find("at most 7"),
            std::string::npos);
  EXPECT_EQ(shape("EAGLE", {.steps = 2, .topk = 2, .nodes = 7}), "2 2 7");
}

TEST(DraftOptions, chains_of_suffixes_are_as_long_as_asked_or_as_their_trees_are_deep) {
  EXPECT_EQ(shape("SUFFIX"), "24 1 25");
  EXPECT_EQ(shape("SUFFIX", {.steps = {}, .topk = {}, .nodes = 16}), "15 1 16");
  EXPECT_EQ(shape("SUFFIX", {.steps = 5, .topk = 2, .nodes = 64}), "63 1 64");
  EXPECT_NE(shape("SUFFIX", {.steps = {}, .topk = {}, .nodes = 65}).find("at most 64"),
            std::string::npos);
}

TEST(DraftOptions, predictions_are_drafted_with_what_suffixes_are_but_little_memory) {
  DraftOptions options;
  options.suffix.max_depth = 12;
  const SuffixOptions predictions = prediction_options(options);
  EXPECT_TRUE(predictions.only_predictions);
  EXPECT_EQ(predictions.max_depth, 12);
  EXPECT_EQ(predictions.max_answers, 0);
  EXPECT_LT(predictions.capacity, options.suffix.capacity);
  EXPECT_EQ(predictions.most_drafts, kPredictionDrafts);
}

}  // namespace
}  // namespace foretoken
