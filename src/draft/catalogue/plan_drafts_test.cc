#include "draft/catalogue/plan_drafts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "draft/algorithm.h"
#include "draft/from_text/constraint_drafter.h"
#include "draft/from_text/suffix/suffix_algorithm.h"

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
    const TreeShape chosen = plan_drafts(options, architecture).shape;
    return fmt::format("{} {} {}", chosen.steps, chosen.topk, chosen.nodes);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(DraftOptions, names_are_known_in_any_case) {
  EXPECT_EQ(algorithm_named("standalone"), "STANDALONE");
  EXPECT_EQ(algorithm_named(""), "");
  EXPECT_EQ(algorithm_named("None"), "");
  EXPECT_EQ(algorithm_named("nextn"), "EAGLE");
  EXPECT_EQ(algorithm_named("Eagle3"), "EAGLE3");
  EXPECT_EQ(drafter_named("nextn"), "EAGLE");
  EXPECT_EQ(drafter_named("grammar"), "GRAMMAR");
  for (const char* name : {"NGRAM+", "+NGRAM", "NGRAM++SUFFIX"})
    EXPECT_THAT([&] { algorithm_named(name); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("an empty name")))
        << name;
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
  EXPECT_EQ(shape("STANDALONE", {.steps = 4, .topk = 1, .nodes = 1}), "4 1 5");
}

TEST(DraftOptions, a_root_alone_is_no_tree) {
  for (const char* name : {"NGRAM", "SUFFIX", "EAGLE", "EAGLE+SUFFIX"})
    EXPECT_NE(shape(name, {.steps = 2, .topk = 2, .nodes = 1}).find("2 to 64"), std::string::npos)
        << name;
}

TEST(DraftOptions, trees_of_ngrams_are_as_large_as_asked_or_as_the_window) {
  EXPECT_EQ(shape("NGRAM"), "1 10 12");
  EXPECT_EQ(shape("NGRAM", {.steps = {}, .topk = {}, .nodes = 32}), "3 10 32");
  EXPECT_EQ(shape("NGRAM", {.steps = 5, .topk = 2, .nodes = 16}), "5 10 16");
  EXPECT_NE(shape("NGRAM", {.steps = {}, .topk = {}, .nodes = 65}).find("2 to 64"),
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
  EXPECT_NE(shape("SUFFIX", {.steps = {}, .topk = {}, .nodes = 65}).find("2 to 64"),
            std::string::npos);
}

TEST(DraftOptions, predictions_are_drafted_with_what_suffixes_are_but_little_memory) {
  DraftOptions options;
  options.own.edit<SuffixOptions>().max_depth = 12;
  const SuffixOptions predictions = prediction_options(options);
  EXPECT_TRUE(predictions.only_predictions);
  EXPECT_EQ(predictions.max_depth, 12);
  EXPECT_EQ(predictions.max_answers, 0);
  EXPECT_LT(predictions.capacity, options.own.get<SuffixOptions>().capacity);
  EXPECT_EQ(predictions.most_drafts, kPredictionDrafts);
}

TEST(DraftOptions, several_algorithms_are_joined_by_a_plus) {
  EXPECT_EQ(algorithm_named("eagle3+Suffix"), "EAGLE3+SUFFIX");
  EXPECT_EQ(algorithm_named("ngram+suffix+nextn"), "NGRAM+SUFFIX+EAGLE");
  EXPECT_THROW(algorithm_named("EAGLE+NEXTN"), Error);
  EXPECT_THROW(algorithm_named("EAGLE3+STANDALONE"), Error);
  for (const char* name : {"NGRAM+ngram", "+", "NGRAM+", "+NGRAM", "NGRAM++SUFFIX", "NGRAM+MAGIC"})
    EXPECT_THROW(algorithm_named(name), Error) << name;
  DraftOptions options;
  options.algorithm = "NGRAM+EAGLE3";
  EXPECT_EQ(model_algorithm(options), "EAGLE3");
  EXPECT_TRUE(drafts_by(options, "NGRAM"));
  EXPECT_FALSE(drafts_by(options, "EAGLE"));
  EXPECT_EQ(model_algorithm({}), "");
}

std::string parts(DraftOptions options) {
  std::string out;
  for (const DraftPart& part : plan_drafts(options, "LlamaForCausalLM").parts)
    out += fmt::format("{} {} {} {}; ", part.algorithm->name, part.shape.steps, part.shape.topk,
                       part.shape.nodes);
  return out;
}

TEST(DraftOptions, each_part_has_trees_of_its_own_and_all_share_the_largest) {
  DraftOptions options;
  options.algorithm = "EAGLE3+SUFFIX";
  EXPECT_EQ(parts(options), "EAGLE3 5 4 8; SUFFIX 24 1 25; ");
  EXPECT_EQ(shape("EAGLE3+SUFFIX"), "5 4 25");
  EXPECT_EQ(shape("SUFFIX+EAGLE3", {.steps = 3, .topk = 1, .nodes = 16}), "3 1 16");
  options.steps = 3;
  options.topk = 1;
  options.nodes = 16;
  EXPECT_EQ(parts(options), "EAGLE3 3 1 4; SUFFIX 15 1 16; ");
  options.topk = 2;
  options.nodes = 64;
  EXPECT_EQ(parts(options), "EAGLE3 3 2 11; SUFFIX 63 1 64; ");
}

TEST(DraftOptions, predictions_are_a_part_where_suffixes_do_not_read_them) {
  DraftOptions options;
  EXPECT_EQ(parts(options), "PREDICTION 32 1 33; ");
  EXPECT_EQ(plan_drafts(options, "").most_drafts(100), kPredictionDrafts);
  options.algorithm = "EAGLE3";
  EXPECT_EQ(parts(options), "EAGLE3 5 4 8; PREDICTION 32 1 33; ");
  options.serves_constraints = true;
  EXPECT_EQ(parts(options), "EAGLE3 5 4 8; GRAMMAR 16 1 17; PREDICTION 32 1 33; ");
  EXPECT_EQ(plan_drafts(options, "LlamaForCausalLM").most_drafts(10),
            70 + kPredictionDrafts + kConstraintDrafts);
  options.serves_constraints = false;
  const DraftPlan plan = plan_drafts(options, "LlamaForCausalLM");
  EXPECT_EQ(plan.shape.nodes, 8);
  EXPECT_EQ(plan.max_nodes(), 33);
  EXPECT_EQ(plan.most_drafts(10), 70 + kPredictionDrafts);
  options.serves_predictions = false;
  EXPECT_EQ(parts(options), "EAGLE3 5 4 8; ");
  options.algorithm = "";
  EXPECT_EQ(parts(options), "");
}

TEST(DraftOptions, who_reads_predictions_is_meant_by_their_name) {
  DraftOptions options;
  const auto meant = [&](const std::string& name) {
    return wished_drafter(name, set_up_drafts(options, "LlamaForCausalLM"));
  };
  EXPECT_EQ(meant("prediction"), "PREDICTION");
  options.algorithm = "EAGLE3+SUFFIX";
  EXPECT_EQ(meant("prediction"), "SUFFIX");
  EXPECT_EQ(meant("suffix"), "SUFFIX");
  EXPECT_EQ(meant("GRAMMAR"), "GRAMMAR");
  EXPECT_EQ(meant("nobody"), "NOBODY");
  options.serves_predictions = false;
  EXPECT_EQ(meant("PREDICTION"), "PREDICTION") << "a part that this plan has not";
}

}  // namespace
}  // namespace foretoken
