#include "draft/catalogue/union_drafter.h"

#include <map>
#include <new>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

struct Draft {
  int parent;  // a draft before it; -1: the root
  Token token;
  float score;
};

// Proposes what it is told to, and remembers what it was asked.
class Script final : public Drafter {
 public:
  Script(DraftNeeds needs, std::shared_ptr<DraftPace> pace)
      : needs_(needs), pace_(std::move(pace)) {}

  DraftNeeds needs() const override { return needs_; }
  void open(SeqSlot slot, const DraftRequest&) override {
    if (fails_to_open) throw std::bad_alloc();
    open_slots.push_back(slot);
  }
  void close(SeqSlot slot) override { std::erase(open_slots, slot); }
  void observe(const CommittedRows&) override {
    ++observed;
    rested = pace_->rests(0);
  }
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override {
    asked.assign(slots.begin(), slots.end());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      std::vector<int> node;
      for (const Draft& draft : drafts) {
        if (static_cast<int>(node.size()) + 1 >= limits[i].nodes) break;
        node.push_back(trees.grow(slots[i], draft.parent < 0 ? 0 : node[at(draft.parent)],
                                  draft.token, draft.score));
      }
    }
  }
  DraftReport report(SeqSlot) const override {
    return {.by_drafter = {}, .predictions = {.proposed = 2, .accepted = 1}};
  }
  void forget() override { ++forgotten; }

  std::vector<Draft> drafts;
  bool fails_to_open = false;
  std::vector<SeqSlot> open_slots, asked;
  int observed = 0, forgotten = 0;
  bool rested = false;

 private:
  const DraftNeeds needs_;
  std::shared_ptr<DraftPace> pace_;
};

constexpr DraftNeeds kText{.taps = {}, .max_nodes = 8};
constexpr DraftNeeds kModel{.taps = {}, .max_nodes = 16, .runs_model = true, .scratch_slots = 5};

// Two drafters and one sequence in slot 0.
class Steps {
 public:
  explicit Steps(const DraftNeeds& first = kText, const DraftNeeds& second = kText,
                 std::shared_ptr<StepPace> pace = std::make_shared<StepPace>())
      : drafter(2, std::move(pace)) {
    a = add(first);
    b = add(second);
  }

  void open(const DraftWish& wish = {}) {
    drafter.open(0, {.wish = wish});
    trees.plant(0, 1);
  }
  void propose(int nodes = 64) {
    const SeqSlot slot = 0;
    const TreeLimits limits{.nodes = nodes, .depth = 64};
    drafter.propose({&slot, 1}, {&limits, 1}, trees);
    ASSERT_EQ(tree_fault(trees.tokens(0), trees.parents(0)), "");
  }
  // These nodes were accepted, the root first; so many were verified, all if fewer.
  void commit(std::vector<std::int32_t> path, int verified = 64) {
    Batch batch;
    BatchSeq& rows = batch.seqs.emplace_back();
    rows = {};
    rows.slot = 0;
    rows.rows = batch.rows = std::min(trees.size(0), verified);
    Walk walk;
    WalkSeq& seq = walk.seqs.emplace_back();
    seq.slot = 0;
    seq.emitted.resize(path.size());
    seq.path = std::move(path);
    drafter.observe({plan_, table_, batch, walk, features_});
    trees.plant(0, 1);
  }
  // A step with all drafts of the script's accepted on one path.
  void step(const std::vector<std::int32_t>& path) {
    propose();
    commit(path);
  }

  // Paths of the tree by their tokens, with scores.
  std::map<std::string, float> paths() const {
    std::map<std::string, float> found;
    std::vector<std::string> path(1);
    for (int n = 1; n < trees.size(0); ++n) {
      path.push_back(path[at(trees.parents(0)[at(n)])] + std::to_string(trees.tokens(0)[at(n)]));
      found[path.back()] = trees.scores(0)[at(n)];
    }
    return found;
  }

  UnionDrafter drafter;
  Script *a = nullptr, *b = nullptr;
  DraftTrees trees{2, 16};

 private:
  Script* add(const DraftNeeds& needs) {
    Script* made = nullptr;
    drafter.add([&](std::shared_ptr<DraftPace> pace) {
      auto script = std::make_unique<Script>(needs, std::move(pace));
      made = script.get();
      return script;
    });
    return made;
  }
  StepPlan plan_;
  SeqTable table_{2};
  Features features_;
};

TEST(UnionDrafter, equal_paths_become_one_with_the_better_chance) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 0.9F}, {0, 3, 0.5F}, {-1, 7, 0.1F}};
  steps.b->drafts = {{-1, 2, 0.6F}, {0, 3, 0.55F}, {1, 4, 0.5F}};
  steps.open();
  steps.commit({0});
  steps.propose();
  EXPECT_THAT(steps.paths(), UnorderedElementsAre(Pair("2", 0.9F), Pair("23", 0.55F),
                                                  Pair("234", 0.5F), Pair("7", 0.1F)));
}

TEST(UnionDrafter, the_best_of_all_are_verified_and_every_node_has_its_parent) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 0.9F}, {0, 3, 0.2F}, {1, 4, 0.2F}};
  steps.b->drafts = {{-1, 5, 0.8F}, {0, 6, 0.7F}, {1, 7, 0.6F}};
  steps.open();
  steps.commit({0});
  steps.propose(5);
  EXPECT_THAT(steps.paths(), UnorderedElementsAre(Pair("2", 0.9F), Pair("5", 0.8F),
                                                  Pair("56", 0.7F), Pair("567", 0.6F)));
  steps.commit({0});
  steps.propose(1);
  EXPECT_EQ(steps.trees.size(0), 1);
}

TEST(UnionDrafter, where_a_step_has_room_for_fewer_the_best_are_verified) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 0.3F}, {0, 3, 0.2F}, {-1, 4, 0.8F}};
  steps.b->drafts = {{-1, 5, 0.9F}, {0, 6, 0.7F}, {1, 7, 0.7F}, {-1, 8, 0.1F}};
  steps.open();
  steps.commit({0});
  steps.propose();
  ASSERT_EQ(steps.trees.size(0), 8);
  steps.trees.prune(0, 6);
  EXPECT_EQ(tree_fault(steps.trees.tokens(0), steps.trees.parents(0)), "");
  EXPECT_THAT(steps.paths(),
              UnorderedElementsAre(Pair("5", 0.9F), Pair("4", 0.8F), Pair("56", 0.7F),
                                   Pair("567", 0.7F), Pair("2", 0.3F)));
  steps.trees.prune(0, 3);
  EXPECT_THAT(steps.paths(), UnorderedElementsAre(Pair("5", 0.9F), Pair("4", 0.8F)));
  steps.commit({0, 1});  // 5
  const DraftReport report = steps.drafter.report(0);
  EXPECT_EQ(report.by_drafter[0].proposed, 1) << "of what was verified";
  EXPECT_EQ(report.by_drafter[0].accepted, 0);
  EXPECT_EQ(report.by_drafter[1].proposed, 1);
  EXPECT_EQ(report.by_drafter[1].accepted, 1);
}

TEST(UnionDrafter, each_draft_names_who_has_proposed_it) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 0.9F}, {0, 3, 0.8F}};
  steps.b->drafts = {{-1, 2, 0.5F}, {-1, 4, 0.4F}};
  steps.open();
  steps.commit({0});
  EXPECT_THAT(steps.drafter.origins(0), ElementsAre());
  steps.propose();
  EXPECT_THAT(steps.trees.tokens(0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(steps.drafter.origins(0), ElementsAre(3U, 1U, 2U));
}

TEST(UnionDrafter, drafts_of_one_score_keep_their_order) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 1.0F}, {0, 3, 1.0F}, {-1, 4, 1.0F}};
  steps.open();
  steps.commit({0});
  steps.propose();
  EXPECT_THAT(steps.trees.tokens(0), ElementsAre(1, 2, 3, 4));
}

// Notes what is said to it of drafts that a model had no part in.
class Ledger final : public StepPace {
 public:
  class Tired final : public DraftPace {
    bool rests(SeqSlot) const override { return true; }
  };
  void observe(const CommittedRows&) override {
    told.emplace_back(drafts_, accepted_);
    drafts_ = accepted_ = 0;
  }
  void open(SeqSlot) override { spared.clear(); }
  void spare(SeqSlot) override { spared += "model "; }
  void spare_texts(SeqSlot) override { spared += "texts"; }
  DraftPace& texts() override { return tired; }
  void credit_texts(SeqSlot, int drafts, int accepted) override {
    drafts_ += drafts;
    accepted_ += accepted;
  }

  std::vector<std::pair<int, int>> told;  // by step: drafts, accepted
  std::string spared;                     // of the last sequence
  Tired tired;

 private:
  int drafts_ = 0, accepted_ = 0;
};

TEST(UnionDrafter, what_is_there_without_the_model_is_told_before_the_facts) {
  const auto ledger = std::make_shared<Ledger>();
  Steps steps(kText, kModel, ledger);
  steps.a->drafts = {{-1, 2, 0.9F}, {0, 3, 0.8F}};
  steps.b->drafts = {{-1, 2, 0.6F}, {0, 5, 0.5F}};
  steps.open();
  steps.commit({0});
  steps.propose();
  ASSERT_THAT(steps.paths(),
              UnorderedElementsAre(Pair("2", 0.9F), Pair("23", 0.8F), Pair("25", 0.5F)));
  steps.commit({0, 1, 3});  // 2 by both, 5 by the model alone
  EXPECT_THAT(ledger->told, ElementsAre(Pair(0, 0), Pair(2, 1)));
  EXPECT_TRUE(steps.a->rested) << "heeds the pace of texts";
  EXPECT_FALSE(steps.b->rested);
}

TEST(UnionDrafter, the_pace_is_told_for_whom_there_can_be_no_drafts) {
  const auto ledger = std::make_shared<Ledger>();
  Steps steps(kText, kModel, ledger);
  const auto spared = [&](std::uint32_t drafters, int max_nodes = 8) {
    steps.open({.max_nodes = max_nodes, .drafters = drafters});
    return ledger->spared;
  };
  EXPECT_EQ(spared(3), "");
  EXPECT_EQ(spared(1), "model ");
  EXPECT_EQ(spared(2), "texts");
  EXPECT_EQ(spared(0), "model texts");
  EXPECT_EQ(spared(3, 1), "model texts");
}

TEST(UnionDrafter, without_a_model_nothing_is_credited) {
  const auto ledger = std::make_shared<Ledger>();
  Steps steps(kText, kText, ledger);
  steps.a->drafts = {{-1, 2, 0.9F}};
  steps.open();
  steps.commit({0});
  steps.step({0, 1});
  EXPECT_THAT(ledger->told, ElementsAre(Pair(0, 0), Pair(0, 0)));
}

TEST(UnionDrafter, needs_what_its_parts_need) {
  const Steps steps(kText, kModel);
  const DraftNeeds needs = steps.drafter.needs();
  EXPECT_EQ(needs.max_nodes, 16);
  EXPECT_TRUE(needs.runs_model);
  EXPECT_EQ(needs.scratch_slots, 5);
}

TEST(UnionDrafter, counts_for_each_part_what_it_proposed_and_what_came_true) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 0.9F}, {0, 3, 0.8F}};
  steps.b->drafts = {{-1, 2, 0.7F}, {-1, 5, 0.6F}};
  steps.open();
  steps.commit({0});
  steps.propose();
  steps.commit({0, 1});  // token 2, which both had
  steps.propose();
  steps.commit({0, 1, 2}, 3);  // 2 and 3; 5 found no room in the step
  const DraftReport report = steps.drafter.report(0);
  EXPECT_EQ(report.by_drafter[0].proposed, 4);
  EXPECT_EQ(report.by_drafter[0].accepted, 3);
  EXPECT_EQ(report.by_drafter[1].proposed, 3);
  EXPECT_EQ(report.by_drafter[1].accepted, 2);
  EXPECT_EQ(report.drafted, 2);
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.reason(), "");
  EXPECT_EQ(report.predictions.proposed, 4) << "what the parts say";
  steps.drafter.close(0);
  steps.open();
  EXPECT_EQ(steps.drafter.report(0).by_drafter[0].proposed, 0) << "another request";
}

TEST(UnionDrafter, scores_of_a_part_are_taken_for_what_they_proved_to_be) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 0.9F}};
  steps.b->drafts = {{-1, 5, 0.4F}};
  steps.open();
  steps.commit({0});
  for (int i = 0; i < 400; ++i) {
    steps.propose();
    const int five = steps.trees.tokens(0)[1] == 5 ? 1 : 2;
    steps.commit({0, five});
  }
  steps.propose();
  EXPECT_LT(steps.paths()["2"], 0.2F);
  EXPECT_GT(steps.paths()["5"], 0.8F);
}

TEST(UnionDrafter, a_model_computes_nothing_where_texts_promise_as_much) {
  Steps steps(kText, kModel);
  steps.b->drafts = {{-1, 9, 0.9F}};
  steps.open();
  steps.commit({0});
  for (int i = 0; i < 20; ++i) steps.step({0, 1});  // one draft accepted each time
  EXPECT_FALSE(steps.b->rested);
  EXPECT_THAT(steps.b->asked, ElementsAre(0));

  steps.a->drafts = {{-1, 2, 0.9F}, {0, 3, 0.9F}};
  steps.propose();
  EXPECT_TRUE(steps.b->rested) << "before it reads what was committed";
  EXPECT_THAT(steps.b->asked, ElementsAre());
  steps.commit({0});
  steps.a->drafts = {{-1, 2, 0.5F}};
  steps.propose();
  EXPECT_FALSE(steps.b->rested);
  EXPECT_THAT(steps.b->asked, ElementsAre(0));
}

TEST(UnionDrafter, a_model_that_brought_nothing_is_asked_again) {
  Steps steps(kText, kModel);
  steps.b->drafts = {{-1, 9, 0.9F}};
  steps.open();
  steps.commit({0});
  for (int i = 0; i < 20; ++i) steps.step({0});
  EXPECT_THAT(steps.b->asked, ElementsAre(0)) << "nobody promises anything";
  steps.a->drafts = {{-1, 2, 0.9F}};
  steps.propose();
  EXPECT_THAT(steps.b->asked, ElementsAre(0)) << "nobody promises a token";
}

TEST(UnionDrafter, a_part_need_not_heed_its_pace) {
  Steps steps;
  steps.drafter.add([](auto) { return std::make_unique<Script>(kText, nullptr); });
  steps.b->drafts = {{-1, 5, 0.7F}};
  steps.open({.drafters = 2});
  EXPECT_THAT(steps.b->open_slots, ElementsAre(0));
  steps.propose();
  EXPECT_THAT(steps.paths(), UnorderedElementsAre(Pair("5", 0.7F)));
}

TEST(UnionDrafter, every_part_sees_every_step_once) {
  Steps steps(kModel, kText);
  steps.open();
  for (int i = 0; i < 3; ++i) {
    steps.commit({0});
    steps.propose();
  }
  EXPECT_EQ(steps.a->observed, 3);
  EXPECT_EQ(steps.b->observed, 3);
  steps.drafter.forget();
  EXPECT_EQ(steps.a->forgotten + steps.b->forgotten, 2);
}

TEST(UnionDrafter, a_request_has_the_drafts_that_it_wishes) {
  Steps steps;
  steps.a->drafts = {{-1, 2, 0.9F}, {0, 3, 0.8F}};
  steps.b->drafts = {{-1, 5, 0.7F}};
  steps.open({.max_nodes = 64, .drafters = 2});
  steps.commit({0});
  steps.propose();
  EXPECT_THAT(steps.paths(), UnorderedElementsAre(Pair("5", 0.7F)));
  steps.drafter.close(0);

  steps.open({.max_nodes = 2, .drafters = 3});
  steps.commit({0});
  steps.propose();
  EXPECT_THAT(steps.paths(), UnorderedElementsAre(Pair("2", 0.9F)));
  steps.drafter.close(0);

  for (const DraftWish wish : {DraftWish{.max_nodes = 1}, DraftWish{.drafters = 0}}) {
    steps.open(wish);
    steps.commit({0});
    steps.propose();
    EXPECT_EQ(steps.trees.size(0), 1);
    EXPECT_EQ(steps.drafter.report(0).reason(), "request");
    steps.drafter.close(0);
  }
}

TEST(UnionDrafter, a_model_that_a_request_does_not_wish_reads_nothing_of_it) {
  Steps steps(kText, kModel);
  steps.open({.drafters = 1});
  steps.commit({0});
  steps.propose();
  EXPECT_TRUE(steps.b->rested);
}

TEST(UnionDrafter, where_a_part_cannot_open_a_slot_it_stays_closed) {
  Steps steps;
  steps.b->fails_to_open = true;
  EXPECT_THROW(steps.open(), std::bad_alloc);
  EXPECT_TRUE(steps.a->open_slots.empty());
  steps.b->fails_to_open = false;
  steps.open();
  EXPECT_THAT(steps.a->open_slots, ElementsAre(0));
  steps.drafter.close(0);
  EXPECT_TRUE(steps.b->open_slots.empty());
}

}  // namespace
}  // namespace foretoken
