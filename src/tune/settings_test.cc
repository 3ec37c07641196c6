#include "tune/settings.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "draft/from_text/ngram/ngram_options.h"
#include "tune/tune_report.h"

namespace foretoken {
namespace {

SettingBase base() {
  SettingBase base;
  base.algorithm = "EAGLE3";
  base.architecture = "LlamaForCausalLM";
  base.flags = {"--speculative-draft-model-path", "a head"};
  base.steps = 5;
  base.topk = 4;
  return base;
}

TEST(Settings, flags_say_what_the_setting_is) {
  const TuneSetting setting = shape_setting(base(), {3, 2, 8}, TreeBudget::kFull);
  EXPECT_EQ(setting.name, "EAGLE3 3/2/8");
  EXPECT_EQ(shell_line(setting.flags),
            "--speculative-algorithm EAGLE3 --speculative-draft-model-path 'a head' "
            "--speculative-num-steps 3 --speculative-eagle-topk 2 --speculative-num-draft-tokens 8 "
            "--draft-budget full");
  EXPECT_EQ(setting.plan.model.nodes, 8);
  EXPECT_EQ(shell_line(text_setting(base(), "SUFFIX", 17, TreeBudget::kMeasured).flags),
            "--speculative-algorithm SUFFIX --speculative-num-draft-tokens 17 --draft-budget auto");
  const TuneSetting both = union_setting(base(), "NGRAM", {3, 2, 8}, TreeBudget::kMeasured);
  EXPECT_EQ(both.name, "EAGLE3+NGRAM 3/2/8, auto");
  EXPECT_EQ(both.flags[1], "EAGLE3+NGRAM");
  EXPECT_EQ(both.plan.parts.size(), 2U);
}

TEST(Settings, shapes_are_within_the_record_and_each_comes_once) {
  std::set<std::string> names;
  for (const TreeShape& shape : grid_of_shapes(base())) {
    EXPECT_LE(shape.steps, 5);
    EXPECT_LE(shape.topk, 4);
    const TuneSetting setting = shape_setting(base(), shape, TreeBudget::kFull);
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    // The flags ask for this shape and nothing is adjusted.
    EXPECT_EQ(setting.plan.model.steps, shape.steps) << setting.name;
    EXPECT_EQ(setting.plan.model.topk, shape.topk) << setting.name;
    EXPECT_EQ(setting.plan.model.nodes, shape.nodes) << setting.name;
  }
  EXPECT_GT(names.size(), 40U);
  for (const char* documented : {"EAGLE3 3/1/4", "EAGLE3 5/4/8", "EAGLE3 5/4/16", "EAGLE3 3/4/16"})
    EXPECT_TRUE(names.contains(documented)) << documented;
}

TEST(Settings, without_a_draft_model_there_are_texts_only) {
  SettingBase texts = base();
  texts.algorithm = {};
  texts.steps = texts.topk = 0;
  EXPECT_TRUE(grid_of_shapes(texts).empty());
  const auto settings = first_settings(texts);
  EXPECT_EQ(settings.size(), 6U);
  EXPECT_TRUE(further_settings(texts, settings).empty());
}

// A tree that has no room for the drafts of a corpus is none of the settings.
TEST(Settings, trees_have_room_for_the_drafts_of_a_corpus) {
  SettingBase texts = base();
  texts.algorithm = {};
  texts.draft.own.edit<NgramOptions>().corpus_drafts = 16;
  std::vector<std::string> names;
  for (const auto& setting : first_settings(texts))
    if (setting.name.starts_with("NGRAM")) names.push_back(setting.name);
  EXPECT_EQ(names, (std::vector<std::string>{"NGRAM 17, auto", "NGRAM 33, auto"}));
}

TEST(Settings, the_best_come_again_by_cost_and_with_texts) {
  const auto further =
      further_settings(base(), {shape_setting(base(), {3, 2, 8}, TreeBudget::kFull)});
  std::vector<std::string> names;
  for (const auto& setting : further) names.push_back(setting.name);
  EXPECT_EQ(names, (std::vector<std::string>{"EAGLE3 3/2/8, auto", "EAGLE3+SUFFIX 3/2/8, auto",
                                             "EAGLE3+NGRAM 3/2/8, auto"}));
}

}  // namespace
}  // namespace foretoken
