#include "draft/pace/measured_pace.h"

#include <gtest/gtest.h>

#include "batch/testing/sequence_rows.h"

namespace foretoken {
namespace {

// A machine on which a step takes a second and so much per row, drafting so much, for one sequence.
class Machine {
 public:
  Machine(double per_row, double per_forward, int forwards = 1, float score = 0.9F)
      : per_row_(per_row), per_forward_(per_forward), forwards_(forwards), score_(score) {
    pace_.open(0);
    plan_.entries.push_back({.slot = 0, .has_tree = true, .generated = 1});
    batch_.seqs.push_back(sequence_rows(1));
    walk_.seqs.push_back({.slot = 0, .path = {}, .emitted = {}, .foreseen = {}, .scored = {}});
  }

  // Nothing is fixed any more: every row takes a second.
  void compute_by_rows() { fixed_ = 0, per_row_ = 1; }

  // The draft model takes so long for the prompt of a step.
  void read_prompts_in(double seconds) { reading_ = seconds; }

  // Another sequence follows, for which the model may draft or not.
  void follow(bool drafts) {
    pace_.open(0);
    is_off_ = !drafts;
    if (is_off_) pace_.spare(0);
  }

  // Of each tree so many drafts are found without the model, and all of them accepted.
  void find_in_texts(int drafts) { texts_ = drafts; }

  // A step of which so many proposals are accepted at most, then a tree of as many sure nodes as
  // the pace allows, up to 8 rows.
  void step(int accepted, bool has_prompt = false) {
    plan_.entries.resize(has_prompt ? 2 : 1);
    walk_.seqs.resize(plan_.entries.size());
    batch_.seqs.resize(plan_.entries.size());
    if (has_prompt) plan_.entries[1].chain = prompt_;
    seconds_ += fixed_ + per_row_ * nodes_;
    batch_.rows = batch_.seqs[0].rows = nodes_;
    accepted = std::min(std::max(accepted, found_), nodes_ - 1);
    walk_.seqs[0].path.assign(static_cast<std::size_t>(1 + accepted), 0);
    walk_.seqs[0].emitted.resize(walk_.seqs[0].path.size());
    pace_.credit_texts(0, found_, found_);
    pace_.observe({.plan = plan_, .table = table_, .batch = batch_, .walk = walk_, .features = {}});
    nodes_ = 1;
    if (has_prompt && !pace_.sleeps(0)) {
      pace_.begin_forward(DraftWork::kReading);
      seconds_ += reading_;
      pace_.end_forward(3);
    }
    found_ = pace_.texts().rests(0) ? 0 : texts_;
    if (!is_off_ && !pace_.rests(0)) {
      for (int i = 0; i < forwards_; ++i) {
        pace_.begin_forward(DraftWork::kRoots);
        seconds_ += per_forward_;
        pace_.end_forward(2);
      }
      nodes_ = pace_.least_score() < score_ ? 8 : 1;
      ++asked_;
    }
    nodes_ = std::max(nodes_, 1 + found_);
    if (nodes_ > 1) pace_.plant(0, 0.9 * (nodes_ - 1));
    in_texts_ += found_ > 0;
    pace_.end_growth();
  }

  int nodes() const { return nodes_; }
  int asked() const { return asked_; }        // steps in which the draft model looked for drafts
  int in_texts() const { return in_texts_; }  // steps for which there were drafts without it

 private:
  double fixed_ = 1, per_row_, reading_ = 0;
  const double per_forward_;
  const int forwards_;
  const float score_;
  bool is_off_ = false;
  int asked_ = 0, in_texts_ = 0;
  int texts_ = 0, found_ = 0;
  double seconds_ = 1;
  int nodes_ = 1;
  MeasuredPace pace_{[this] { return seconds_; }};
  const std::vector<Token> prompt_{1, 2, 3};
  StepPlan plan_;
  SeqTable table_{1};
  Batch batch_;
  Walk walk_;
};

int full_trees(Machine& machine, int accepted, int steps) {
  int full = 0;
  for (int i = 0; i < steps; ++i) {
    machine.step(accepted);
    full += machine.nodes() == 8;
  }
  return full;
}

TEST(MeasuredPace, drafts_that_cost_little_and_come_true_go_on) {
  Machine machine(0.001, 0.01);
  EXPECT_GE(full_trees(machine, 7, 500), 490) << "but for the steps that tell what plain ones take";
}

TEST(MeasuredPace, drafts_that_never_come_true_end) {
  Machine machine(0.1, 0.3);
  full_trees(machine, 0, 200);
  EXPECT_LT(full_trees(machine, 0, 1000), 30);
}

TEST(MeasuredPace, a_rest_is_no_shorter_for_steps_in_which_drafts_are_turned_off) {
  Machine machine(0.1, 0.3);
  full_trees(machine, 0, 200);
  const int before = machine.asked();
  machine.follow(false);
  full_trees(machine, 0, 5000);
  machine.follow(true);
  full_trees(machine, 0, 20);
  EXPECT_EQ(machine.asked(), before);
  full_trees(machine, 0, 5000);
  EXPECT_GT(machine.asked(), before);
}

TEST(MeasuredPace, drafts_that_come_true_but_cost_more_than_they_save_end) {
  Machine machine(0.01, 3);
  full_trees(machine, 1, 200);
  EXPECT_LT(full_trees(machine, 1, 1000), 30);
}

TEST(MeasuredPace, looking_for_drafts_that_are_not_there_ends) {
  Machine machine(0.1, 0.3, 1, 0.0F);  // no draft is worth a row
  full_trees(machine, 0, 200);
  const int asked = machine.asked();
  EXPECT_GT(asked, 0);
  EXPECT_EQ(full_trees(machine, 0, 1000), 0);
  EXPECT_LT(machine.asked() - asked, 50);
}

// A batch so large that every row costs the same.
TEST(MeasuredPace, drafts_end_where_no_part_of_a_step_is_fixed) {
  Machine machine(1, 0.3);
  machine.compute_by_rows();
  full_trees(machine, 5, 200);
  const int asked = machine.asked();
  EXPECT_LT(full_trees(machine, 5, 1000), 30);
  EXPECT_LT(machine.asked() - asked, 50);
}

TEST(MeasuredPace, each_level_is_a_cost) {
  Machine machine(0.01, 0.5, 6);  // three seconds for a tree that saves less than two
  full_trees(machine, 2, 200);
  EXPECT_LT(full_trees(machine, 2, 1000), 30);
}

int full_trees_beside_prompts(Machine& machine, int accepted, int steps) {
  int full = 0;
  for (int i = 0; i < steps; ++i) {
    machine.step(accepted, true);
    full += machine.nodes() == 8;
  }
  return full;
}

// Every token that comes sooner saves a part of a step to come, whatever the prompts beside it.
TEST(MeasuredPace, drafts_pay_beside_prompts_where_they_pay_alone) {
  Machine pays(0.05, 0.5), does_not(0.05, 2.5);
  for (Machine* machine : {&pays, &does_not}) {
    full_trees(*machine, 2, 20);
    full_trees_beside_prompts(*machine, 2, 200);
  }
  EXPECT_GE(full_trees_beside_prompts(pays, 2, 1000), 980);
  EXPECT_LT(full_trees_beside_prompts(does_not, 2, 1000), 30);
}

// What the draft model reads of prompts it need not read where it sleeps.
TEST(MeasuredPace, reading_prompts_is_a_cost_of_drafting) {
  Machine machine(0.05, 0.5);
  machine.read_prompts_in(2);
  full_trees_beside_prompts(machine, 2, 200);
  EXPECT_LT(full_trees_beside_prompts(machine, 2, 1000), 30);
}

TEST(MeasuredPace, a_model_rests_that_brings_no_more_than_texts_do) {
  Machine machine(0.01, 0.3);
  machine.find_in_texts(3);  // with the model a step takes 1.4 seconds, and 4 tokens come of it
  full_trees(machine, 0, 200);
  const int asked = machine.asked(), in_texts = machine.in_texts();
  full_trees(machine, 0, 1000);
  EXPECT_LT(machine.asked() - asked, 50);
  EXPECT_GE(machine.in_texts() - in_texts, 980);
}

// Steps of the one kind are no measure for those of the other: a trial of a slow model among many
// quick steps is not taken for a few slow moments.
// For whom no model drafts, texts do, also where the model's next step would have been a plain one.
TEST(MeasuredPace, texts_go_on_where_no_model_may_draft) {
  for (int begin = 0; begin < 140; ++begin) {
    Machine machine(0.01, 0.01);
    machine.find_in_texts(2);
    full_trees(machine, 4, begin);
    machine.follow(false);
    const int before = machine.in_texts();
    full_trees(machine, 0, 100);
    EXPECT_GE(machine.in_texts() - before, 95) << begin;
  }
}

TEST(MeasuredPace, a_slow_model_rests_beside_texts_that_are_quick) {
  Machine machine(0.01, 3);
  machine.find_in_texts(2);
  full_trees(machine, 4, 300);
  const int asked = machine.asked();
  full_trees(machine, 4, 3000);
  EXPECT_LT(machine.asked() - asked, 40);
}

TEST(MeasuredPace, a_model_that_brings_more_than_texts_do_goes_on) {
  Machine machine(0.01, 0.3);
  machine.find_in_texts(1);
  EXPECT_GE(full_trees(machine, 4, 500), 480);
}

TEST(MeasuredPace, a_better_text_is_noticed) {
  Machine machine(0.1, 0.3);
  full_trees(machine, 0, 300);
  full_trees(machine, 7, 500);
  EXPECT_GE(full_trees(machine, 7, 100), 98);
}

}  // namespace
}  // namespace foretoken
