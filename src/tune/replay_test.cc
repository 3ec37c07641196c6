// The heart of tuning: what is replayed from a record equals what an engine does with the same
// setting, tree by tree and count by count.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/threads.h"
#include "draft/catalogue/make_drafter.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/suffix/suffix_options.h"
#include "draft/with_model/model_drafter.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "engine/testing/random_heads.h"
#include "engine/testing/tiny_model.h"
#include "model/heads/language_draft.h"
#include "model/runner.h"
#include "tune/candidate_recorder.h"
#include "tune/engine_session.h"
#include "tune/replay.h"
#include "tune/settings.h"

namespace foretoken {
namespace {

constexpr int kPages = 160, kSlots = 3, kSteps = 5, kTopk = 6, kNewTokens = 40;

// A tree as it is offered: tokens, parents and scores.
struct SeenTree {
  std::vector<Token> tokens;
  std::vector<std::int32_t> parents;
  std::vector<float> scores;
  friend bool operator==(const SeenTree&, const SeenTree&) = default;
};
using SeenTrees = std::map<std::pair<std::uint32_t, int>, SeenTree>;  // by text and its token

SeenTree seen(const DraftTrees& trees, SeqSlot slot) {
  const auto tokens = trees.tokens(slot);
  const auto parents = trees.parents(slot);
  const auto scores = trees.scores(slot);
  return {{tokens.begin(), tokens.end()},
          {parents.begin(), parents.end()},
          {scores.begin(), scores.end()}};
}

// Looks at what another drafter grows.
class SpyDrafter final : public Drafter {
 public:
  explicit SpyDrafter(std::unique_ptr<Drafter> inner) : inner_(std::move(inner)) {}
  DraftNeeds needs() const override { return inner_->needs(); }
  FeatureTaps taps() const override { return inner_->taps(); }
  void open(SeqSlot slot, const DraftRequest& request) override {
    texts_[slot] = {static_cast<std::uint32_t>(request.tokens[0]), 0};
    inner_->open(slot, request);
  }
  void close(SeqSlot slot) override { inner_->close(slot); }
  void observe(const CommittedRows& rows) override {
    for (const WalkSeq& found : rows.walk.seqs)
      texts_[found.slot].second += static_cast<int>(found.emitted.size());
    inner_->observe(rows);
  }
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override {
    inner_->propose(slots, limits, trees);
    for (const SeqSlot slot : slots)
      trees_[{texts_[slot].first, texts_[slot].second - 1}] = seen(trees, slot);
  }
  DraftReport report(SeqSlot slot) const override { return inner_->report(slot); }

  const SeenTrees& trees() const { return trees_; }

 private:
  std::unique_ptr<Drafter> inner_;
  std::map<SeqSlot, std::pair<std::uint32_t, int>> texts_;
  SeenTrees trees_;
};

// Cuts trees as one that measures does, but always the same.
class CuttingPace final : public StepPace {
 public:
  float least_score() const override { return 0.002F; }
  bool is_level_worth(int rows, double promised) const override { return promised > 0.004 * rows; }
};

// Counts what a draft model computes, and how much of it.
class CountingPace final : public StepPace {
 public:
  void begin_forward(DraftWork work) override {
    begun[work] += 1;
    last_ = work;
  }
  void end_forward(int rows) override { this->rows[last_] += rows; }
  std::map<DraftWork, int> begun, rows;

 private:
  DraftWork last_ = DraftWork::kReading;
};

// Draft models of which some are often right: the target's own first layer.
enum class Draft { kFirstLayer, kItself, kEagle, kFrSpec, kEagle3, kMimos, kNextns, kQueries };

class ReplayTest : public testing::TestWithParam<Draft> {
 protected:
  ReplayTest()
      : threads_(2, false),
        ops_(make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, threads_)),
        target_(std::make_unique<Decoder>(*ops_, tiny_model(300, 512), *dummy_weights(1),
                                          DType::kBF16)),
        runner_(*ops_, *target_, kPages) {
    // The first token tells texts apart.
    for (std::uint32_t n = 0; n < 5; ++n) {
      TunePrompt prompt{.category = n % 2 == 0 ? "even" : "odd", .number = n, .tokens = {}};
      for (int i = 0; i < 5 + static_cast<int>(n) * 9; ++i)
        prompt.tokens.push_back(i == 0 ? static_cast<Token>(n)
                                       : (static_cast<Token>(n) * 31 + i * 7) % 300);
      prompts_.push_back(prompt);
    }
    wish_ = {
        .max_new_tokens = kNewTokens, .temperature = 0, .top_logprobs = 3, .stop_tokens = {7, 77}};
  }

  EngineConfig config(int slots) const {
    EngineConfig config;
    config.max_running_requests = slots;
    config.total_tokens = kPages * kPageTokens;
    config.context_length = 400;
    config.chunked_prefill_size = 24;
    config.check_integrity = true;
    config.radix_cache = false;
    return config;
  }

  std::unique_ptr<DraftModel> draft_model(Draft kind) {
    std::unique_ptr<DraftModel> model;
    if (kind == Draft::kFirstLayer || kind == Draft::kItself) {
      ModelConfig config = tiny_model(300, 512);
      if (kind == Draft::kFirstLayer) config.layers = 1;
      model = std::make_unique<LanguageDraft>(
          *ops_, std::make_unique<Decoder>(*ops_, config, *dummy_weights(1), DType::kBF16), 300);
    } else {
      const RandomHead head = kind == Draft::kEagle     ? RandomHead::kEagle
                              : kind == Draft::kFrSpec  ? RandomHead::kFrSpec
                              : kind == Draft::kEagle3  ? RandomHead::kEagle3
                              : kind == Draft::kMimos   ? RandomHead::kMimos
                              : kind == Draft::kQueries ? RandomHead::kQueries
                                                        : RandomHead::kNextns;
      model = random_head(*ops_, *target_, head);
    }
    return model;
  }

  Record record(Draft kind) {
    auto model = draft_model(kind);
    model->allocate_kv(kPages);
    CandidateRecorder recorder(*ops_, std::move(model), kSteps, kTopk, kPages, kSlots);
    Engine engine(config(kSlots), *ops_, runner_, recorder);
    engine.start();
    Record record;
    record.identity = {.algorithm = "EAGLE",
                       .architecture = "LlamaForCausalLM",
                       .vocab = 300,
                       .steps = kSteps,
                       .topk = kTopk,
                       .max_new_tokens = wish_.max_new_tokens,
                       .temperature = wish_.temperature,
                       .stop_tokens = wish_.stop_tokens};
    const std::atomic<bool> stop = false;
    record_answers(engine, &recorder, prompts_, wish_, kSlots, stop,
                   [&](RecordedText text) { record.texts.push_back(std::move(text)); });
    return record;
  }

  struct Live {
    SeenTrees trees;
    std::int64_t steps = 0, accepted = 0, proposed = 0;
    std::vector<std::vector<Token>> outputs;
  };
  Live run_live(Draft kind, const TuneSetting& setting, int at_once,
                std::shared_ptr<StepPace> pace) {
    std::unique_ptr<DraftModel> model;
    if (setting.plan.model.steps > 0) model = draft_model(kind);
    SpyDrafter drafter(make_drafter(*ops_, std::move(model),
                                    {.options = setting.draft, .plan = setting.plan}, kPages,
                                    at_once, std::move(pace)));
    Engine engine(config(at_once), *ops_, runner_, drafter);
    std::vector<Request> requests;
    for (const TunePrompt& prompt : prompts_) requests.push_back(request_of(prompt, wish_));
    for (std::size_t i = 0; i < requests.size(); ++i) requests[i].id += std::to_string(i);
    Live live;
    for (const TokenDelta& answer : start_and_run(engine, std::move(requests))) {
      live.steps += answer.verify_steps;
      live.accepted += answer.accepted_drafts;
      live.proposed += answer.proposed_drafts;
      auto& output = live.outputs.emplace_back();
      for (const SampledToken& token : answer.tokens) output.push_back(token.token);
    }
    live.trees = drafter.trees();
    return live;
  }

  static SettingBase base() {
    SettingBase base;
    base.algorithm = "EAGLE";
    base.architecture = "LlamaForCausalLM";
    base.steps = kSteps;
    base.topk = kTopk;
    base.draft.own.edit<NgramOptions>().capacity = 1 << 12;
    base.draft.own.edit<SuffixOptions>().capacity = 1 << 12;
    base.draft.coupling = Coupling::kNever;
    return base;
  }

  void expect_equal(const Record& record, Draft kind, const TuneSetting& setting, int at_once,
                    const std::shared_ptr<StepPace>& pace = std::make_shared<StepPace>()) {
    SCOPED_TRACE(setting.name + ", at once " + std::to_string(at_once));
    const Live live = run_live(kind, setting, at_once, pace);
    SeenTrees replayed;
    ReplayOptions options{.at_once = at_once, .chunked_prefill_size = 24, .pace = pace};
    options.on_tree = [&](std::uint32_t text, int token, const DraftTrees& trees, SeqSlot slot) {
      replayed[{text, token}] = seen(trees, slot);
    };
    const ReplayResult result = replay(record, setting, options);
    for (std::size_t i = 0; i < record.texts.size(); ++i)
      EXPECT_EQ(record.texts[i].output, live.outputs[i]);
    EXPECT_EQ(result.unanswered, 0);
    EXPECT_EQ(result.all.steps, live.steps);
    EXPECT_EQ(result.all.accepted, live.accepted);
    EXPECT_EQ(result.proposed, live.proposed);
    ASSERT_EQ(replayed.size(), live.trees.size());
    for (const auto& [place, tree] : live.trees) {
      ASSERT_TRUE(replayed.contains(place)) << place.first << ", " << place.second;
      ASSERT_EQ(replayed[place].tokens, tree.tokens) << place.first << ", " << place.second;
      ASSERT_EQ(replayed[place].parents, tree.parents) << place.first << ", " << place.second;
      ASSERT_EQ(replayed[place].scores, tree.scores) << place.first << ", " << place.second;
    }
  }

  ThreadPool threads_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Decoder> target_;
  Runner runner_;
  std::vector<TunePrompt> prompts_;
  AnswerWish wish_;
};

TEST_P(ReplayTest, every_shape_replays_as_it_runs) {
  const Record recorded = record(GetParam());
  ASSERT_EQ(recorded.texts.size(), prompts_.size());
  const TreeShape shapes[] = {{1, 1, 2}, {1, 6, 7}, {2, 2, 4}, {3, 1, 4},  {3, 2, 8}, {3, 4, 16},
                              {4, 3, 6}, {5, 1, 6}, {5, 4, 8}, {5, 6, 64}, {5, 5, 9}, {2, 6, 40}};
  for (const TreeShape& shape : shapes)
    expect_equal(recorded, GetParam(), shape_setting(base(), shape, TreeBudget::kFull), kSlots);
}

TEST_P(ReplayTest, unions_replay_as_they_run) {
  const Record recorded = record(GetParam());
  for (const char* text : {"SUFFIX", "NGRAM"})
    for (const int at_once : {1, kSlots})
      expect_equal(recorded, GetParam(), union_setting(base(), text, {4, 3, 12}, TreeBudget::kFull),
                   at_once);
}

TEST_P(ReplayTest, trees_that_are_cut_replay_as_they_run) {
  const Record recorded = record(GetParam());
  const auto pace = std::make_shared<CuttingPace>();
  for (const TreeShape& shape : {TreeShape{5, 2, 12}, TreeShape{5, 6, 64}}) {
    expect_equal(recorded, GetParam(), shape_setting(base(), shape, TreeBudget::kFull), kSlots,
                 pace);
    expect_equal(recorded, GetParam(), union_setting(base(), "SUFFIX", shape, TreeBudget::kFull), 1,
                 pace);
  }
}

INSTANTIATE_TEST_SUITE_P(Drafts, ReplayTest,
                         testing::Values(Draft::kFirstLayer, Draft::kItself, Draft::kEagle,
                                         Draft::kFrSpec, Draft::kEagle3, Draft::kMimos,
                                         Draft::kNextns, Draft::kQueries));

TEST_F(ReplayTest, texts_alone_replay_as_they_run) {
  const Record recorded = record(Draft::kFirstLayer);
  for (const char* text : {"SUFFIX", "NGRAM"})
    for (const int nodes : {5, 17, 33})
      for (const int at_once : {1, 2, kSlots})
        expect_equal(recorded, Draft::kFirstLayer,
                     text_setting(base(), text, nodes, TreeBudget::kFull), at_once);
}

TEST_F(ReplayTest, a_setting_beyond_the_record_is_refused) {
  const Record recorded = record(Draft::kFirstLayer);
  const auto fault = [&](const TuneSetting& setting) -> std::string {
    try {
      replay(recorded, setting, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(fault(shape_setting(base(), {6, 1, 7}, TreeBudget::kFull)),
            "the record is not as deep (EAGLE 6/1/7): expected at most 5 steps, found 6");
  EXPECT_EQ(fault(shape_setting(base(), {2, 8, 16}, TreeBudget::kFull)),
            "the record is not as wide (EAGLE 2/8/16): expected at most 6 children, found 8");
  SettingBase other = base();
  other.algorithm = "EAGLE3";
  EXPECT_EQ(fault(shape_setting(other, {2, 1, 3}, TreeBudget::kFull)),
            "the record has no candidates of this draft model (EAGLE3 2/1/3): expected EAGLE, "
            "found EAGLE3");
}

// What a record lacks is counted, and what follows from it is not made up.
TEST_F(ReplayTest, rows_that_are_missing_are_counted) {
  Record recorded = record(Draft::kItself);
  const TuneSetting setting = shape_setting(base(), {3, 2, 8}, TreeBudget::kFull);
  const ReplayResult whole = replay(recorded, setting, {});
  for (RecordedText& text : recorded.texts)
    for (RecordedTree& tree : text.trees) {
      tree.rows.resize(std::min<std::size_t>(tree.rows.size(), 2));
      tree.tokens.resize(tree.rows.size() * kTopk);
      tree.chances.resize(tree.rows.size() * kTopk);
    }
  const ReplayResult cut = replay(recorded, setting, {});
  EXPECT_GT(cut.unanswered, 0);
  EXPECT_LT(cut.all.accepted, whole.all.accepted);
}

// Above temperature 0 a record answers for its own draws.
TEST_F(ReplayTest, sampled_texts_replay_as_they_run) {
  wish_.temperature = 0.8F;
  const Record recorded = record(Draft::kItself);
  expect_equal(recorded, Draft::kItself, shape_setting(base(), {4, 4, 16}, TreeBudget::kFull),
               kSlots);
}

// A measured pace learns from both ends of what a draft model computes.
TEST_F(ReplayTest, what_is_read_is_told_to_the_pace) {
  const Record recorded = record(Draft::kItself);
  const auto pace = std::make_shared<CountingPace>();
  replay(recorded, shape_setting(base(), {3, 2, 8}, TreeBudget::kFull), {.pace = pace});
  int tokens = 0;
  for (const RecordedText& text : recorded.texts)
    tokens += static_cast<int>(text.prompt.size() + text.output.size());
  EXPECT_GT(pace->begun[DraftWork::kReading], 0);
  // All but the last token of each text at least, which nothing is drafted behind.
  EXPECT_GE(pace->rows[DraftWork::kReading], tokens - 2 * static_cast<int>(recorded.texts.size()));
}

// A setting that measures is reported as it runs once it has measured: here, without drafts.
TEST_F(ReplayTest, a_setting_that_measures_has_measured_before_it_counts) {
  const Record recorded = record(Draft::kItself);
  StepCosts costs;
  for (const int rows : {1, 2, 4, 8}) {
    costs.plain.add(rows, 0.001);
    costs.target.add(rows, 0.001 * rows);
    costs.roots.add(rows, 0.005);
    costs.level.add(rows, 0.005);
  }
  costs.fit();
  const TuneSetting setting = shape_setting(base(), {3, 2, 8}, TreeBudget::kMeasured);
  const ReplayResult result = replay(recorded, setting, {.costs = &costs});
  const ReplayResult plain = replay(recorded, plain_setting(), {.costs = &costs});
  EXPECT_EQ(result.tokens, plain.tokens);
  EXPECT_LT(result.seconds, 1.05 * plain.seconds);
}

// Of each step that drafts: one of the model on roots, one on each level below.
TEST_F(ReplayTest, drafting_takes_what_roots_and_levels_take) {
  const Record recorded = record(Draft::kItself);
  const TuneSetting setting = shape_setting(base(), {3, 2, 8}, TreeBudget::kFull);
  const auto drafting_with = [&](double roots, double level) {
    StepCosts costs;
    for (const int rows : {1, 2, 4, 8, 64}) {
      costs.plain.add(rows, 0.001);
      costs.target.add(rows, 0.001);
      if (roots > 0) costs.roots.add(rows, roots);
      if (level > 0) costs.level.add(rows, level);
    }
    costs.fit();
    return replay(recorded, setting, {.costs = &costs}).drafting_seconds;
  };
  const double roots = drafting_with(0.25, 0), levels = drafting_with(0, 0.25);
  EXPECT_EQ(drafting_with(0, 0), 0);
  EXPECT_GE(roots, 0.25);
  EXPECT_GT(levels, roots);
  EXPECT_NEAR(drafting_with(0.25, 0.25), roots + levels, 1e-9);
}

TEST_F(ReplayTest, counts_by_depth_and_category_add_up) {
  const Record recorded = record(Draft::kItself);
  const ReplayResult result =
      replay(recorded, shape_setting(base(), {3, 2, 8}, TreeBudget::kFull), {});
  std::int64_t by_depth = 0, by_category = 0;
  for (const auto& depth : result.depths) by_depth += depth.accepted;
  for (const auto& [name, tally] : result.categories) by_category += tally.accepted;
  EXPECT_EQ(by_depth, result.all.accepted);
  EXPECT_EQ(by_category, result.all.accepted);
  EXPECT_EQ(result.categories.size(), 2U);
  EXPECT_EQ(result.seconds, 0);
}

}  // namespace
}  // namespace foretoken
