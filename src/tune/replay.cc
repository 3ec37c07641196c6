#include "tune/replay.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/make_drafter.h"
#include "draft/catalogue/plan_drafts.h"
#include "draft/pace/measured_pace.h"
#include "tune/replay_drafter.h"

namespace foretoken {
namespace {

// Of this thread: others may take its processor away in the middle.
double seconds_worked() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class ReplayRun {
 public:
  ReplayRun(const Record& record, const TuneSetting& setting, const ReplayOptions& options)
      : record_(record),
        setting_(setting),
        options_(options),
        trees_(options.at_once, std::clamp(setting.plan.max_nodes(), 1, kMaxTreeNodes)),
        table_(options.at_once),
        slots_(at(options.at_once)) {
    clock_.costs = options.costs;
    params_.temperature = record.identity.temperature;
    params_.stop_tokens = record.identity.stop_tokens;
    make_drafter();
    for (SeqSlot slot = options.at_once - 1; slot >= 0; --slot) free_.push_back(slot);
  }

  ReplayResult run() {
    if (learns()) forget_but_what_pays();
    const double start = clock_.now;
    while (plan()) compute();
    result_.seconds = options_.costs == nullptr ? 0 : clock_.now - start;
    result_.drafting_seconds = clock_.drafting;
    if (model_ != nullptr) result_.unanswered = model_->unanswered();
    return std::move(result_);
  }

 private:
  // A pace that measures has measured after the first seconds of a server's life.
  bool learns() const {
    return options_.costs != nullptr && options_.pace == nullptr && setting_.drafts() &&
           setting_.draft.budget == TreeBudget::kMeasured;
  }

  void forget_but_what_pays() {
    constexpr double kFirstSeconds = 2;
    constexpr int kMostPasses = 20;  // where the record is short, or costs nothing
    const double until = clock_.now + kFirstSeconds;
    for (int pass = 0; pass < kMostPasses && clock_.now < until; ++pass) {
      while (plan()) compute();
      drafter_->forget();
      next_ = 0;
    }
    result_ = {};
    clock_.drafting = 0;
  }

  struct Slot {
    const RecordedText* text = nullptr;  // null: free
    std::size_t stored = 0;              // of its prompt
    int output = 0;                      // tokens of its answer that came
    bool has_ended = false;

    bool is_rooted() const { return output > 0; }
  };

  void make_drafter() {
    std::shared_ptr<StepPace> pace = options_.pace;
    if (!pace && setting_.draft.budget == TreeBudget::kFull) pace = std::make_shared<StepPace>();
    if (!pace) pace = std::make_shared<MeasuredPace>([this] { return clock_.now; });
    drafter_ = join_drafters(
        {.options = setting_.draft, .plan = setting_.plan}, options_.at_once, std::move(pace),
        [&](const Algorithm&, PartSetup part) -> std::unique_ptr<Drafter> {
          auto made = std::make_unique<ReplayDrafter>(
              part.shape, record_.identity.topk, options_.at_once, std::move(part.pace), clock_);
          model_ = made.get();
          return made;
        });
  }

  // ---- as the scheduler plans

  bool plan() {
    plan_.entries.clear();
    plan_.prompt_tokens = 0;
    leave();
    int budget = prompt_row_budget();
    for (const SeqSlot slot : running_) {
      if (slots_[at(slot)].is_rooted())
        plan_.entries.push_back({.slot = slot, .has_tree = true});
      else
        add_chunk(slot, budget);
    }
    while (budget > 0 && !free_.empty() && next_ < record_.texts.size()) {
      const SeqSlot slot = free_.back();
      free_.pop_back();
      open(slot, record_.texts[next_++]);
      add_chunk(slot, budget);
    }
    return !plan_.entries.empty();
  }

  void leave() {
    std::erase_if(running_, [&](SeqSlot slot) {
      Slot& s = slots_[at(slot)];
      if (!s.has_ended) return false;
      drafter_->close(slot);
      s = {};
      free_.push_back(slot);
      return true;
    });
  }

  void open(SeqSlot slot, const RecordedText& text) {
    slots_[at(slot)] = {.text = &text};
    table_.length[at(slot)] = 0;
    if (model_ != nullptr) model_->seat(slot, text);
    drafter_->open(slot, {.tokens = text.prompt, .prompt_tokens = text.prompt.size()});
    running_.push_back(slot);
  }

  int prompt_row_budget() const {
    const int chunk = options_.chunked_prefill_size;
    if (chunk <= 0) return std::max(1, options_.max_prefill_tokens);
    int decode_rows = 0;
    for (const SeqSlot slot : running_)
      if (slots_[at(slot)].is_rooted()) decode_rows += trees_.size(slot);
    const int left = std::max(chunk - decode_rows, chunk / 4);
    return std::max(1, std::min(left, options_.max_prefill_tokens));
  }

  void add_chunk(SeqSlot slot, int& budget) {
    Slot& s = slots_[at(slot)];
    const auto pending = std::span(s.text->prompt).subspan(s.stored);
    const auto rows = std::min(std::ssize(pending), std::ptrdiff_t{budget});
    if (rows <= 0) return;
    budget -= static_cast<int>(rows);
    plan_.prompt_tokens += static_cast<int>(rows);
    const bool is_last = rows == std::ssize(pending);
    plan_.entries.push_back({.slot = slot,
                             .chain = pending.first(at(rows - (is_last ? 1 : 0))),
                             .has_tree = is_last,
                             .root = is_last ? pending.back() : kNoToken});
    s.stored += at(rows);
  }

  // ---- as a step computes

  void compute() {
    layout();
    walk();
    if (options_.costs != nullptr) clock_.now += target_seconds();
    const bool has_model = model_ != nullptr;
    const double began = has_model ? 0 : seconds_worked();
    drafter_->observe(
        {.plan = plan_, .table = table_, .batch = batch_, .walk = walk_, .features = features_});
    // Those who read texts do here what they would do there.
    if (options_.costs != nullptr && setting_.drafts() && has_model)
      clock_.pass(options_.costs->rest.of(static_cast<int>(walk_.seqs.size())), rest_);
    drafter_->propose(growing_, limits_, trees_);
    if (options_.costs != nullptr && setting_.drafts() && !has_model)
      clock_.pass(seconds_worked() - began, rest_);
    if (!options_.on_tree) return;
    for (const SeqSlot slot : growing_)
      options_.on_tree(slots_[at(slot)].text->number, slots_[at(slot)].output - 1, trees_, slot);
  }

  double target_seconds() const {
    const StepCosts& costs = *options_.costs;
    int tree_rows = 0, chain_rows = 0;
    for (const BatchSeq& seq : batch_.seqs) {
      chain_rows += seq.chain;
      tree_rows += seq.rows - seq.chain;
    }
    // Where no draft model reads along, rows are added to a plain step.
    const int sequences = static_cast<int>(batch_.seqs.size());
    double seconds = costs.target.of(tree_rows);
    if (model_ == nullptr || model_->sleeps())
      seconds = costs.plain.of(std::min(tree_rows, sequences)) +
                (tree_rows > sequences ? seconds - costs.target.of(sequences) : 0);
    return seconds + (chain_rows > 0 ? costs.prompt.of(chain_rows) : 0);
  }

  void layout() {
    batch_.clear();
    for (StepEntry& entry : plan_.entries) {
      entry.params = &params_;
      entry.generated = slots_[at(entry.slot)].output;
      entry.tokens_left = record_.identity.max_new_tokens - entry.generated;
      if (entry.root != kNoToken) trees_.plant(entry.slot, entry.root);
      const int chain = static_cast<int>(entry.chain.size());
      const int nodes = entry.has_tree ? trees_.size(entry.slot) : 0;
      batch_.seqs.push_back({.slot = entry.slot,
                             .first_row = batch_.rows,
                             .rows = chain + nodes,
                             .base = table_.length[at(entry.slot)],
                             .chain = chain,
                             .first_page = 0,
                             .num_pages = 0,
                             .is_chain = false});
      batch_.rows += chain + nodes;
      result_.rows += nodes;
    }
  }

  // What comes is what was recorded, as far as the tree has it.
  void walk() {
    walk_.seqs.resize(plan_.entries.size());
    growing_.clear();
    limits_.clear();
    for (std::size_t i = 0; i < plan_.entries.size(); ++i) {
      const StepEntry& entry = plan_.entries[i];
      WalkSeq& found = walk_.seqs[i];
      found.slot = entry.slot;
      found.path.clear();
      found.emitted.clear();
      if (entry.has_tree) descend(entry, found);
      table_.length[at(entry.slot)] +=
          static_cast<std::int32_t>(entry.chain.size() + found.path.size());
      if (entry.has_tree) advance(entry, found);
    }
  }

  void descend(const StepEntry& entry, WalkSeq& found) {
    const Slot& s = slots_[at(entry.slot)];
    const auto tokens = trees_.tokens(entry.slot);
    const auto parents = trees_.parents(entry.slot);
    const bool counts = s.output > 0;
    int node = 0;
    for (std::size_t i = at(s.output);; ++i) {
      const Token token = s.text->output[i];
      found.path.push_back(node);
      found.emitted.emplace_back().token = token;
      const bool is_last = i + 1 == s.text->output.size();
      if (is_last || std::ranges::find(params_.stop_tokens, token) != params_.stop_tokens.end())
        break;
      int child = -1;
      bool has_children = false;
      for (std::size_t n = at(node) + 1; n < tokens.size(); ++n) {
        if (parents[n] != node) continue;
        has_children = true;
        if (tokens[n] == token) child = static_cast<int>(n);
      }
      if (counts && has_children) {
        const std::size_t depth = found.path.size();
        if (result_.depths.size() < depth) result_.depths.resize(depth);
        ++result_.depths[depth - 1].offered;
        if (child >= 0) ++result_.depths[depth - 1].accepted;
      }
      if (child < 0) break;
      node = child;
    }
    if (!counts) return;
    ReplayResult::Tally& category = result_.categories[s.text->category];
    const auto accepted = static_cast<std::int64_t>(found.path.size()) - 1;
    for (ReplayResult::Tally* tally : {&result_.all, &category}) {
      ++tally->steps;
      tally->accepted += accepted;
    }
    result_.proposed += std::ssize(tokens) - 1;
  }

  void advance(const StepEntry& entry, const WalkSeq& found) {
    Slot& s = slots_[at(entry.slot)];
    const Token root = found.emitted.back().token;
    trees_.plant(entry.slot, root);
    s.output += static_cast<int>(found.emitted.size());
    result_.tokens += std::ssize(found.emitted);
    const int left = record_.identity.max_new_tokens - s.output;
    s.has_ended = at(s.output) >= s.text->output.size();
    if (s.has_ended || left <= 1 || trees_.max_nodes() <= 1) return;
    growing_.push_back(entry.slot);
    limits_.push_back({.nodes = trees_.max_nodes(), .depth = left - 1});
  }

  const Record& record_;
  const TuneSetting& setting_;
  const ReplayOptions& options_;
  ReplayClock clock_;
  double rest_ = 0;
  SamplingParams params_;
  std::unique_ptr<Drafter> drafter_;
  ReplayDrafter* model_ = nullptr;  // one of the drafter's, if it runs a model

  DraftTrees trees_;
  SeqTable table_;
  std::vector<Slot> slots_;
  std::vector<SeqSlot> free_, running_;
  std::size_t next_ = 0;  // text to come

  StepPlan plan_;
  Batch batch_;
  Walk walk_;
  const Features features_ = {};
  std::vector<SeqSlot> growing_;
  std::vector<TreeLimits> limits_;
  ReplayResult result_;
};

}  // namespace

void check_answers(const RecordIdentity& identity, const TuneSetting& setting) {
  const std::string model = model_algorithm(setting.draft);
  if (model.empty()) return;
  const auto refuse = [&](const std::string& what, const std::string& expected,
                          const std::string& found) {
    throw Error({.what = what, .where = setting.name, .expected = expected, .found = found});
  };
  if (model != identity.algorithm || !identity.has_candidates())
    refuse("the record has no candidates of this draft model",
           identity.algorithm.empty() ? names_of(text_algorithms()) : identity.algorithm, model);
  const TreeShape shape = needed_shape(setting.plan.model);
  if (shape.steps > identity.steps)
    refuse("the record is not as deep", "at most " + std::to_string(identity.steps) + " steps",
           std::to_string(shape.steps));
  if (shape.topk > identity.topk)
    refuse("the record is not as wide", "at most " + std::to_string(identity.topk) + " children",
           std::to_string(shape.topk));
}

ReplayResult replay(const Record& record, const TuneSetting& setting,
                    const ReplayOptions& options) {
  check_answers(record.identity, setting);
  return ReplayRun(record, setting, options).run();
}

}  // namespace foretoken
