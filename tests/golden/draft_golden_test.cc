// The first two levels of draft trees against an independent computation of every family of heads,
// and more levels where there is a head for each depth, through the same path as serving:
// checkpoints from disk, the prompt in chunks, the drafter.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/threads.h"
#include "draft/catalogue/make_drafter.h"
#include "draft/catalogue/plan_drafts.h"
#include "draft/with_model/model_drafter.h"
#include "draft_case.h"
#include "model/decoder/load.h"
#include "model/runner.h"

namespace foretoken {
namespace {

constexpr int kTopk = 3;
constexpr int kPages = 8;
constexpr TreeShape kTwoLevels{.steps = 2, .topk = kTopk, .nodes = 1 + kTopk + kTopk * kTopk};
// Deeper than any chain of heads, so that all of their KV is looked at.
constexpr TreeShape kDeep{.steps = 5, .topk = 2, .nodes = 16};

// A draft model that writes down all logits it gives.
class Recorded final : public DraftModel {
 public:
  Recorded(std::unique_ptr<DraftModel> model, std::vector<std::vector<float>>& rows)
      : model_(std::move(model)), rows_(rows) {}
  FeatureTaps taps() const override { return model_->taps(); }
  std::int64_t tap_width() const override { return model_->tap_width(); }
  int feature_width() const override { return model_->feature_width(); }
  int carried_width() const override { return model_->carried_width(); }
  bool reads_target_kv() const override { return model_->reads_target_kv(); }
  Tensor features(const Features& target, std::span<const std::int32_t> rows) override {
    return model_->features(target, rows);
  }
  void allocate_kv(int num_pages) override { model_->allocate_kv(num_pages); }
  KvShape kv_shape() const override { return model_->kv_shape(); }
  std::size_t weight_bytes() const override { return model_->weight_bytes(); }
  std::int64_t vocab() const override { return model_->vocab(); }
  std::size_t feature_bytes(std::int64_t rows) const override {
    return model_->feature_bytes(rows);
  }
  std::size_t forward_bytes(std::int64_t rows) const override {
    return model_->forward_bytes(rows);
  }
  ForwardSize forward_size(std::int64_t rows) const override { return model_->forward_size(rows); }
  std::int64_t hidden_width() const override { return model_->hidden_width(); }
  std::int64_t logit_width() const override { return model_->logit_width(); }
  DraftRows forward(Batch& batch, const DraftInput& input) override {
    return model_->forward(batch, input);
  }
  Tensor logits(Tensor hidden) override {
    const Tensor logits = model_->logits(hidden);
    for (std::int64_t row = 0; row < logits.dim(0); ++row)
      rows_.emplace_back(logits.row_f32(row), logits.row_f32(row) + logits.dim(1));
    return logits;
  }
  Token target_token(Token draft) const override { return model_->target_token(draft); }

 private:
  std::unique_ptr<DraftModel> model_;
  std::vector<std::vector<float>>& rows_;
};

struct Proposal {
  std::vector<Token> tokens;
  std::vector<std::int32_t> parents;
  std::vector<std::vector<float>> logits;  // of the root, then of its children
};

// Rests while it is told to.
class SwitchedPace final : public DraftPace {
 public:
  explicit SwitchedPace(const bool& rests) : rests_(rests) {}
  bool rests(SeqSlot) const override { return rests_; }

 private:
  const bool& rests_;
};

// Commits the tokens in chunks and lets the drafter propose a tree.
class Proposing {
 public:
  Proposing(const DraftCase& draft, const std::string& device, DType dtype,
            const TreeShape& shape = kTwoLevels)
      : draft_(draft),
        shape_(shape),
        pool_(1, false),
        ops_(make_backend({.device = device, .cpu_isa = "auto", .gemm_order = "auto"}, pool_)) {
    options_.algorithm = algorithm_named(draft.algorithm);
    options_.folder = draft.head;
    options_.target_folder = draft.target;
    options_.token_map = draft.token_map;
    options_.load.show_progress = false;
    ModelOptions load;
    load.dtype = dtype == DType::kF32 ? "float32" : "bfloat16";
    load.show_progress = false;
    decoder_ = load_model(*ops_, draft.target, load);
  }

  // hand_over: after how many tokens, whole pages, another sequence goes on with the pages, as
  // after a prefix hit; 0: never. decoded: so many of the last tokens come one by one, as answers
  // do; all but the last while the drafter rests.
  Proposal run(int chunk, int hand_over = 0, int decoded = 0) {
    Proposal result;
    auto model = std::make_unique<Recorded>(
        load_draft_model(*ops_, *decoder_,
                         set_up_drafts(options_, decoder_->config().architecture)),
        result.logits);
    model->allocate_kv(2 * kPages);
    const auto drafter = std::make_unique<ModelDrafter>(*ops_, std::move(model), shape_, 2 * kPages,
                                                        2, std::make_unique<SwitchedPace>(rests_));
    rests_ = false;
    params_.temperature = 0;  // the most probable tokens are drafted
    slot_ = 0;
    drafter->open(slot_, {.tokens = draft_.tokens});
    Runner runner(*ops_, *decoder_, 2 * kPages);
    SeqTable table(2);
    for (int page = 0; page < kPages; ++page) table.pages[0].push_back(kPages - 1 - page);
    DraftTrees trees(2, shape_.nodes);
    const auto length = static_cast<int>(draft_.tokens.size()), prompt = length - decoded;
    for (int begin = 0; begin < prompt; begin += chunk) {
      if (begin == hand_over && begin > 0) take_over(*drafter, table);
      const int end = std::min(begin + chunk, prompt);
      commit(*drafter, runner, table, trees, {begin, end}, end == prompt);
    }
    for (int at = prompt; at < length; ++at) {
      rests_ = at < length - 1;
      commit(*drafter, runner, table, trees, {at, at + 1}, true);
    }
    trees.plant(slot_, draft_.root);
    const TreeLimits limits;
    drafter->propose({&slot_, 1}, {&limits, 1}, trees);
    result.tokens.assign(trees.tokens(slot_).begin(), trees.tokens(slot_).end());
    result.parents.assign(trees.parents(slot_).begin(), trees.parents(slot_).end());
    return result;
  }

 private:
  void take_over(Drafter& drafter, SeqTable& table) {
    const auto shared = static_cast<std::size_t>(table.length[0] / kPageTokens);
    table.length[1] = table.length[0];
    table.pages[1] = table.pages[0];
    for (std::size_t page = shared; page < table.pages[1].size(); ++page)
      table.pages[1][page] = static_cast<PageId>(kPages + page);
    drafter.close(slot_);
    slot_ = 1;
    drafter.open(slot_, {.tokens = draft_.tokens});
  }

  // As the step does, with the sampler's choice made for it.
  void commit(Drafter& drafter, Runner& runner, SeqTable& table, DraftTrees& trees,
              std::pair<int, int> range, bool samples) {
    const auto [begin, end] = range;
    const std::span<const Token> rows =
        std::span(draft_.tokens)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    StepPlan plan;
    plan.entries.push_back({.slot = slot_,
                            .chain = samples ? rows.first(rows.size() - 1) : rows,
                            .has_tree = samples,
                            .params = &params_});
    if (samples) trees.plant(slot_, rows.back());
    Batch batch;
    ops_->layout(plan, trees, table, batch);
    const Features features = runner.forward(batch, drafter.needs().taps);
    Walk walk;
    walk.seqs.push_back({.slot = slot_, .path = {}, .emitted = {}, .foreseen = {}, .scored = {}});
    if (samples) {
      walk.seqs[0].path = {0};
      walk.seqs[0].emitted.push_back({});
      const auto next = static_cast<std::size_t>(end);
      walk.seqs[0].emitted[0].token =
          next < draft_.tokens.size() ? draft_.tokens[next] : draft_.root;
    }
    table.length[static_cast<std::size_t>(slot_)] = end;
    drafter.observe(
        {.plan = plan, .table = table, .batch = batch, .walk = walk, .features = features});
  }

  const DraftCase& draft_;
  const TreeShape shape_;
  SeqSlot slot_ = 0;
  bool rests_ = false;
  SamplingParams params_;
  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  DraftOptions options_;
  std::unique_ptr<Decoder> decoder_;
};

double relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0.0, largest = 0.0;
  if (found.size() != expected.size()) return INFINITY;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(found[i])) return INFINITY;
    difference = std::max(difference, std::abs(double{found[i]} - double{expected[i]}));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return difference / largest;
}

double probability(const std::vector<float>& logits, double logit) {
  double sum = 0.0;
  for (const float x : logits) sum += std::exp(double{x});
  return std::exp(logit) / sum;
}

// What the best children of a row score, best first.
std::vector<double> best_scores_of(const std::vector<float>& logits) {
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<double> scores;
  for (int i = 0; i < kTopk; ++i)
    scores.push_back(probability(logits, double{sorted[static_cast<std::size_t>(i)]}));
  return scores;
}

class DraftGolden : public testing::TestWithParam<DraftCase> {};

TEST_P(DraftGolden, logits_of_two_levels_agree_in_float32) {
  const DraftCase& draft = GetParam();
  for (const char* device : {"reference", "cpu"}) {
    const Proposal found = Proposing(draft, device, DType::kF32).run(1 << 20);
    ASSERT_EQ(found.logits.size(), 1U + kTopk);
    EXPECT_LT(relative_error(found.logits[0], draft.first[0]), 1e-4) << device;
    for (std::size_t i = 0; i < kTopk; ++i)
      EXPECT_LT(relative_error(found.logits[i + 1], draft.second[i]), 1e-4) << device << i;
  }
}

TEST_P(DraftGolden, the_tree_holds_the_same_children_with_the_same_scores) {
  const DraftCase& draft = GetParam();
  const Proposal found = Proposing(draft, "cpu", DType::kF32).run(1 << 20);
  ASSERT_EQ(found.tokens.size(), 1U + kTopk + kTopk * kTopk);
  EXPECT_EQ(found.tokens[0], draft.root);
  for (std::size_t i = 0; i < kTopk; ++i) {
    EXPECT_EQ(found.tokens[i + 1], draft.level_1[i].token);
    EXPECT_EQ(found.parents[i + 1], 0);
  }
  const std::vector<double> above = best_scores_of(found.logits[0]);
  for (std::size_t i = 0; i < kTopk; ++i) EXPECT_NEAR(above[i], draft.level_1[i].score, 1e-5);
  for (const DraftCase::Child& child : draft.level_2) {
    const auto parent = static_cast<std::size_t>(child.parent);
    // Siblings come best first, three below each node of the level above.
    const std::size_t first = 1 + kTopk + parent * kTopk;
    const auto place = std::find(&found.tokens[first], &found.tokens[first] + kTopk, child.token);
    const auto rank = static_cast<std::size_t>(place - &found.tokens[first]);
    ASSERT_LT(rank, std::size_t{kTopk}) << child.token;
    EXPECT_EQ(found.parents[first + rank], child.parent + 1);
    EXPECT_NEAR(best_scores_of(found.logits[1 + parent])[rank] * above[parent], child.score, 1e-5);
  }
}

TEST_P(DraftGolden, chunks_of_the_prompt_give_the_same_bits) {
  const DraftCase& draft = GetParam();
  const Proposal whole = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20);
  for (const int chunk : {1, 7, 16}) {
    const Proposal found = Proposing(draft, "cpu", DType::kBF16, kDeep).run(chunk);
    EXPECT_EQ(found.logits, whole.logits) << chunk;
    EXPECT_EQ(found.tokens, whole.tokens) << chunk;
  }
}

TEST_P(DraftGolden, after_a_prefix_hit_the_bits_are_the_same) {
  const DraftCase& draft = GetParam();
  const Proposal whole = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20);
  for (const int shared : {kPageTokens, 2 * kPageTokens}) {
    const Proposal found = Proposing(draft, "cpu", DType::kBF16, kDeep).run(kPageTokens, shared);
    EXPECT_EQ(found.logits, whole.logits) << shared;
  }
}

TEST_P(DraftGolden, after_a_rest_the_bits_are_the_same) {
  const DraftCase& draft = GetParam();
  const auto length = static_cast<int>(draft.tokens.size());
  const Proposal whole = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20);
  for (const int decoded : {2, 9, 20, 32}) {
    if (decoded >= length) continue;
    const Proposal found = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20, 0, decoded);
    EXPECT_EQ(found.logits, whole.logits) << decoded;
  }
}

class DraftGoldenPath : public testing::TestWithParam<DraftCase> {};

// Each token is the best one behind the token before.
TEST_P(DraftGoldenPath, logits_at_every_depth_agree_in_float32) {
  const DraftCase& draft = GetParam();
  const auto steps = static_cast<int>(draft.path.size());
  for (const char* device : {"reference", "cpu"}) {
    const Proposal found =
        Proposing(draft, device, DType::kF32, {.steps = steps, .topk = 1, .nodes = 1 + steps})
            .run(1 << 20);
    ASSERT_EQ(found.logits.size(), draft.path.size());
    for (std::size_t i = 0; i < draft.path.size(); ++i) {
      EXPECT_LT(relative_error(found.logits[i], draft.way[i]), 1e-4) << device << i;
      EXPECT_EQ(found.tokens[i + 1], draft.path[i]);
    }
  }
}

// Those with a head for each depth.
std::vector<DraftCase> cases_with_paths() {
  std::vector<DraftCase> cases = read_draft_cases();
  std::erase_if(cases, [](const DraftCase& draft) { return draft.path.empty(); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Chains, DraftGoldenPath, testing::ValuesIn(cases_with_paths()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Heads, DraftGolden, testing::ValuesIn(read_draft_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace foretoken
