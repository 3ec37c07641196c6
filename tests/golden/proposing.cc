#include "proposing.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "batch/commit.h"
#include "draft/catalogue/plan_drafts.h"
#include "draft/with_model/model_drafter.h"

namespace foretoken {
namespace {

constexpr int kProposingPages = 8;

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
  std::span<const Token> target_tokens() const override { return model_->target_tokens(); }
  void see(std::span<const Token> text) override { model_->see(text); }

 private:
  std::unique_ptr<DraftModel> model_;
  std::vector<std::vector<float>>& rows_;
};

// Rests while it is told to.
class SwitchedPace final : public DraftPace {
 public:
  explicit SwitchedPace(const bool& rests) : rests_(rests) {}
  bool rests(SeqSlot) const override { return rests_; }

 private:
  const bool& rests_;
};

}  // namespace

Proposing::Proposing(const DraftCase& draft, const std::string& device, DType dtype,
                     const TreeShape& shape)
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

Proposal Proposing::run(int chunk, int hand_over, int decoded) {
  Proposal result;
  auto model = std::make_unique<Recorded>(
      load_draft_model(*ops_, *decoder_, set_up_drafts(options_, decoder_->config().architecture)),
      result.logits);
  model->allocate_kv(2 * kProposingPages);
  const auto drafter =
      std::make_unique<ModelDrafter>(*ops_, std::move(model), shape_, 2 * kProposingPages, 2,
                                     std::make_unique<SwitchedPace>(rests_));
  rests_ = false;
  params_.temperature = 0;  // the most probable tokens are drafted
  slot_ = 0;
  drafter->open(slot_, {.tokens = draft_.tokens});
  Runner runner(*ops_, *decoder_, 2 * kProposingPages, {.slots = 2});
  SeqTable table(2);
  for (int page = 0; page < kProposingPages; ++page)
    table.pages[0].push_back(kProposingPages - 1 - page);
  DraftTrees trees(2, shape_.nodes);
  const auto length = static_cast<int>(draft_.tokens.size()), prompt = length - decoded;
  for (int begin = 0; begin < prompt; begin += chunk) {
    if (begin == hand_over && begin > 0) take_over(*drafter, runner, table);
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

void Proposing::take_over(Drafter& drafter, const Runner& runner, SeqTable& table) {
  const auto shared = static_cast<std::size_t>(table.length[0] / kPageTokens);
  table.length[1] = table.length[0];
  table.pages[1] = table.pages[0];
  for (std::size_t page = shared; page < table.pages[1].size(); ++page)
    table.pages[1][page] = static_cast<PageId>(kProposingPages + page);
  if (keeps_states()) {
    const StateCopy copy{.from = table.state[0], .to = 2 + table.state[1]};
    ops_->copy_states({&copy, 1}, runner.kv_layers());
  }
  drafter.close(slot_);
  slot_ = 1;
  drafter.open(slot_, {.tokens = draft_.tokens});
}

// As the step does, with the sampler's choice made for it.
void Proposing::commit(Drafter& drafter, Runner& runner, SeqTable& table, DraftTrees& trees,
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
    walk.seqs[0].emitted[0].token = next < draft_.tokens.size() ? draft_.tokens[next] : draft_.root;
  }
  ops_->kv_keep(walk, batch, runner.kv_layers());
  foretoken::commit(table, slot_, plan.entries[0].chain.size(), walk.seqs[0].path.size());
  drafter.observe(
      {.plan = plan, .table = table, .batch = batch, .walk = walk, .features = features});
}

double largest_error(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0.0, largest = 0.0;
  if (found.size() != expected.size()) return INFINITY;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(found[i])) return INFINITY;
    difference = std::max(difference, std::abs(double{found[i]} - double{expected[i]}));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return difference / largest;
}

}  // namespace foretoken
