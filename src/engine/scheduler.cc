#include "engine/scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace foretoken {
namespace {

// Scored rows need logits of the whole vocabulary each, so a step computes few of them per request.
constexpr int kScoredRows = 128;

bool arrived_before(const std::unique_ptr<Sequence>& a, const std::unique_ptr<Sequence>& b) {
  return a->arrival < b->arrival;
}

template <typename Sequences>
void insert_by_arrival(Sequences& sequences, std::unique_ptr<Sequence> sequence) {
  const auto place = std::upper_bound(sequences.begin(), sequences.end(), sequence, arrived_before);
  sequences.insert(place, std::move(sequence));
}

bool is_id_or_choice(const std::string& id, const std::string& wanted) {
  if (!id.starts_with(wanted)) return false;
  if (id.size() == wanted.size()) return true;
  const auto digits = id.begin() + static_cast<std::ptrdiff_t>(wanted.size()) + 1;
  return id[wanted.size()] == '_' && digits != id.end() &&
         std::all_of(digits, id.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Scheduler::Scheduler(const EngineConfig& config, const Parts& parts)
    : config_(config),
      cache_(parts.cache),
      trees_(parts.trees),
      drafter_(parts.drafter),
      scratch_slots_(parts.drafter.needs().scratch_slots),
      pages_(parts.pool, parts.cache, parts.table),
      log_(config.decode_log_interval),
      by_slot_(static_cast<std::size_t>(parts.trees.slots()), nullptr) {
  for (SeqSlot slot = parts.trees.slots() - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  stats_.total_tokens = parts.pool.num_pages() * kPageTokens;
}

void Scheduler::add(Request request) {
  waiting_.push_back(std::make_unique<Sequence>(std::move(request), arrivals_++));
}

// ---- plan

std::optional<StepPlan> Scheduler::plan() {
  prefill_ = {};
  retracted_ = retracted_tokens_ = 0;
  drop_ended();
  preempt_for_test();
  StepPlan plan;
  int prompt_rows = prompt_row_budget();
  plan_running(plan, prompt_rows);
  // What was preempted for lack of pages must not take them back at once.
  const bool pages_ran_short = retracted_ > 0 && config_.force_preempt_every == 0;
  if (!pages_ran_short) admit(plan, prompt_rows);
  report_plan(plan);
  if (plan.entries.empty()) return std::nullopt;
  ++stats_.steps;
  return plan;
}

// Decodes take their rows first, but prompts keep a quarter of a step, so neither starves.
int Scheduler::prompt_row_budget() const {
  const int chunk = config_.chunked_prefill_size;
  if (chunk <= 0) return std::max(1, config_.max_prefill_tokens);
  int decode_rows = 0;
  for (const auto& s : running_)
    if (s->is_planted) decode_rows += trees_.size(s->slot);
  const int rest = std::max(chunk - decode_rows, chunk / 4);
  return std::max(1, std::min(rest, config_.max_prefill_tokens));
}

// How many of its pending rows a prompt gets. Without chunking it is cut only when it exceeds a
// whole step.
int Scheduler::chunk_rows(const Sequence& s, int budget, const StepPlan& plan) const {
  const int pending = s.pending_rows();
  if (pending > budget && config_.chunked_prefill_size <= 0 && plan.prompt_tokens > 0) return 0;
  const int rows = std::min(pending, budget);
  return s.is_scoring() ? std::min(rows, kScoredRows) : rows;
}

void Scheduler::plan_running(StepPlan& plan, int& prompt_rows) {
  for (std::size_t i = 0; i < running_.size(); ++i) {  // make_room may take away the last ones
    Sequence& s = *running_[i];
    if (s.is_planted) {
      if (make_room(s)) add_entry(plan, s, 1);
    } else if (const int rows = chunk_rows(s, prompt_rows, plan); rows > 0) {
      add_entry(plan, s, rows);
      prompt_rows -= rows;
    }
  }
  remove_released();
}

// Pages for everything this step may append, and room for the drafter behind it. Costs, in this
// order: unused cached text, that room, this sequence's own proposals, the youngest sequences, the
// request itself. Those that are preempted are younger, so they have no entry in the plan yet.
bool Scheduler::make_room(Sequence& s) {
  if (pages_.grow(s, s.stored + trees_.size(s.slot) + scratch_slots_)) return true;
  while (!pages_.grow(s, s.stored + trees_.size(s.slot))) {
    if (trees_.size(s.slot) > 1) {
      trees_.prune(s.slot, 1);
    } else if (running_.size() == 1) {
      finish(s, FinishReason::kOutOfMemory,
             "The KV cache has no room for another token of this request.");
      return false;
    } else {
      const bool is_itself = running_.back().get() == &s;
      preempt(*running_.back());
      if (is_itself) return false;
    }
  }
  return true;
}

void Scheduler::add_entry(StepPlan& plan, Sequence& s, int rows) {
  if (s.is_planted) {
    s.offered(trees_.size(s.slot) - 1);
    stats_.proposed_drafts += static_cast<std::uint64_t>(trees_.size(s.slot) - 1);
  } else {
    trees_.plant(s.slot, s.tokens.back());
    plan.prompt_tokens += rows;
    prefill_.new_tokens += rows;
  }
  plan.entries.push_back(s.make_entry(rows));
}

void Scheduler::admit(StepPlan& plan, int& prompt_rows) {
  if (waiting_.empty() || prompt_rows <= 0 || free_slots_.empty()) return;
  for (Sequence* candidate : admission_order(waiting_, config_.policy, cache_)) {
    if (prompt_rows <= 0 || free_slots_.empty()) break;
    if (config_.radix_cache && prefix_is_coming(*candidate, running_, cache_)) continue;
    if (try_admit(*candidate, plan, prompt_rows) == Admission::kMustWait) break;
  }
}

int Scheduler::reserved_pages() const {
  int pages = 0;
  for (const auto& s : running_)
    pages +=
        std::max(0, pages_for(s->size() + reserve_.tokens(*s)) - static_cast<int>(s->pages.size()));
  return pages;
}

Scheduler::Admission Scheduler::try_admit(Sequence& s, StepPlan& plan, int& prompt_rows) {
  std::vector<Page> matched = pages_.match(s);
  const int num_matched = static_cast<int>(matched.size());
  const int cached = num_matched * kPageTokens;
  const int rows = s.pending_rows() - cached;
  if (rows > prompt_rows && config_.chunked_prefill_size <= 0 && plan.prompt_tokens > 0)
    return Admission::kMustWait;

  const int output = running_.empty() ? 0 : reserve_.tokens(s);
  const int wanted = pages_for(s.size() + output) - num_matched + reserved_pages();
  const bool fits = wanted <= pages_.available(wanted);
  if (!fits && !running_.empty()) return Admission::kMustWait;

  if (s.admitted(cached)) {
    stats_.prompt_tokens += static_cast<std::uint64_t>(s.prompt_tokens());
    stats_.cached_prompt_tokens += static_cast<std::uint64_t>(cached);
  }
  std::unique_ptr<Sequence> owner = take_waiting(s);
  if (rows == 0) {  // nothing to sample or score
    finish(s, FinishReason::kLength, {});
    return Admission::kEnded;
  }
  if (!fits) {
    finish(s, FinishReason::kOutOfMemory, "The KV cache has no room for the text of this request.");
    return Admission::kEnded;
  }

  const SeqSlot slot = free_slots_.back();
  free_slots_.pop_back();
  pages_.open(s, slot, std::move(matched));
  CHECK(pages_.grow(s, s.size())) << "pages counted as available were not";
  if (scratch_slots_ > 0) pages_.grow(s, s.size() + scratch_slots_);  // the drafter can do without
  by_slot_[static_cast<std::size_t>(slot)] = &s;
  drafter_.open(slot, s.tokens);
  ++prefill_.new_sequences;
  prefill_.text_tokens += s.size();
  prefill_.cached_tokens += cached;
  insert_by_arrival(running_, std::move(owner));

  const int chunk = chunk_rows(s, prompt_rows, plan);
  add_entry(plan, s, chunk);
  prompt_rows -= chunk;
  return Admission::kAdmitted;
}

// ---- retire

void Scheduler::retire(StepHandle& step) {
  Walk& walk = step.wait();
  bool has_decoded = false;
  for (std::size_t i = 0; i < walk.seqs.size(); ++i) {
    const StepEntry& entry = step.plan().entries[i];
    Sequence& s = *by_slot_[static_cast<std::size_t>(entry.slot)];
    const int generated = s.generated(), accepted = s.accepted_drafts();
    const int verified = s.verify_steps();
    std::optional<Finish> end = s.commit(entry, walk.seqs[i]);
    stats_.generated_tokens += static_cast<std::uint64_t>(s.generated() - generated);
    stats_.accepted_drafts += static_cast<std::uint64_t>(s.accepted_drafts() - accepted);
    stats_.verify_steps += static_cast<std::uint64_t>(s.verify_steps() - verified);
    has_decoded = has_decoded || (entry.has_tree && entry.chain.empty());
    if (end) {
      finish(s, std::move(*end));
      continue;
    }
    if (!entry.chain.empty()) pages_.publish(s);
    if (s.has_news()) s.request.stream->push(s.take_delta());
  }
  remove_released();
  if (!has_decoded) return;
  reserve_.relax();
  if (!log_.count_decode_step()) return;
  refresh_token_counts();
  stats_.gen_throughput = log_.decode(stats_, load());
}

// ---- ways out

void Scheduler::drop_ended() {
  const auto now = std::chrono::steady_clock::now();
  const auto end_if_due = [&](Sequence& s) {
    if (s.request.stream->cancelled())
      finish(s, FinishReason::kCancelled, "The request was cancelled.");
    else if (s.request.deadline && *s.request.deadline <= now)
      finish(s, FinishReason::kDeadline, "The request's deadline passed before it was finished.");
    else
      return false;
    return true;
  };
  for (auto& s : running_) end_if_due(*s);
  remove_released();
  std::erase_if(waiting_, [&](auto& s) { return end_if_due(*s); });
}

void Scheduler::abort(const std::string& id) {
  const auto end_if_meant = [&](Sequence& s) {
    const bool is_meant = is_id_or_choice(s.request.id, id);
    if (is_meant) finish(s, FinishReason::kCancelled, "The request was aborted.");
    return is_meant;
  };
  for (auto& s : running_) end_if_meant(*s);
  remove_released();
  std::erase_if(waiting_, [&](auto& s) { return end_if_meant(*s); });
}

void Scheduler::fail_all(FinishReason reason, const std::string& message) {
  for (auto& s : running_) finish(*s, reason, message);
  remove_released();
  for (auto& s : waiting_) finish(*s, reason, message);
  waiting_.clear();
}

// Of a sequence that has sampled since its admission, so that the hook cannot stop all progress.
void Scheduler::preempt_for_test() {
  const int every = config_.force_preempt_every;
  if (every <= 0 || stats_.steps % static_cast<std::uint64_t>(every) != 0) return;
  const auto victim =
      std::find_if(running_.rbegin(), running_.rend(), [](const auto& s) { return s->is_planted; });
  if (victim != running_.rend()) preempt(**victim);
}

void Scheduler::preempt(Sequence& s) {
  ++retracted_;
  retracted_tokens_ += static_cast<int>(s.pages.size()) * kPageTokens;
  ++stats_.retractions;
  release(s);
  s.preempted();
  const auto own = std::find_if(running_.begin(), running_.end(),
                                [&](const auto& running) { return running.get() == &s; });
  insert_by_arrival(waiting_, std::move(*own));
  running_.erase(own);
}

void Scheduler::finish(Sequence& s, FinishReason reason, const std::string& message) {
  finish(s, Finish{.reason = reason, .stop_token = kNoToken, .message = message});
}

void Scheduler::finish(Sequence& s, Finish end) {
  if (s.is_running()) release(s);
  const bool is_complete = end.reason == FinishReason::kStop || end.reason == FinishReason::kLength;
  ++(is_complete ? stats_.finished_requests : stats_.aborted_requests);
  s.request.stream->push(s.take_last_delta(std::move(end)));
}

void Scheduler::release(Sequence& s) {
  drafter_.close(s.slot);
  by_slot_[static_cast<std::size_t>(s.slot)] = nullptr;
  free_slots_.push_back(s.slot);
  pages_.close(s);
}

void Scheduler::remove_released() {
  std::erase_if(running_, [](const auto& s) { return !s->is_running(); });
}

std::unique_ptr<Sequence> Scheduler::take_waiting(const Sequence& s) {
  const auto own = std::find_if(waiting_.begin(), waiting_.end(),
                                [&](const auto& waiting) { return waiting.get() == &s; });
  std::unique_ptr<Sequence> taken = std::move(*own);
  waiting_.erase(own);
  for (auto& other : waiting_)
    if (other->arrival < s.arrival) ++other->times_passed;
  return taken;
}

bool Scheduler::flush_cache() {
  if (!is_idle()) return false;
  cache_.clear();
  return true;
}

// ---- figures

EngineStats Scheduler::stats() const {
  EngineStats stats = stats_;
  stats.running = static_cast<int>(running_.size());
  stats.queued = queued();
  return stats;
}

void Scheduler::refresh_token_counts() {
  stats_.cached_tokens = pages_.cached_tokens();
  stats_.used_tokens = pages_.used_tokens();
}

EngineLoad Scheduler::load() const {
  EngineLoad load{.running = static_cast<int>(running_.size()),
                  .queued = queued(),
                  .used_tokens = stats_.used_tokens,
                  .total_tokens = stats_.total_tokens,
                  .pending_tokens = 0};
  for (const auto& s : waiting_) load.pending_tokens += s->pending_rows();
  for (const auto& s : running_)
    if (!s->is_planted) load.pending_tokens += s->pending_rows();
  return load;
}

void Scheduler::report_plan(const StepPlan& plan) {
  if (retracted_ > 0) {
    const double before = reserve_.ratio();
    if (config_.force_preempt_every == 0) reserve_.tighten(running_);
    log_info("{} #retracted_reqs: {}, #new_tokens_gained: {}, #new_token_ratio: {:.4f} -> {:.4f}",
             config_.force_preempt_every > 0 ? "Testing retraction."
                                             : "KV cache pool is full. Retract requests.",
             retracted_, retracted_tokens_, before, reserve_.ratio());
  }
  if (prefill_.text_tokens > 0)
    stats_.cache_hit_rate = static_cast<double>(prefill_.cached_tokens) / prefill_.text_tokens;
  if (plan.prompt_tokens == 0 || !log_enabled(LogLevel::kInfo)) return;
  refresh_token_counts();
  EngineLoad now = load();
  now.running -= prefill_.new_sequences;
  now.pending_tokens -= plan.prompt_tokens;  // these are in the line already
  log_.prefill(prefill_, now);
}

std::string Scheduler::check_integrity() const {
  std::vector<const Sequence*> running;
  for (const auto& s : running_) {
    running.push_back(s.get());
    if (by_slot_[static_cast<std::size_t>(s->slot)] != s.get())
      return "slot " + std::to_string(s->slot) + " does not lead to its sequence";
    if (!s->is_planted) continue;
    if (auto fault = tree_fault(trees_.tokens(s->slot), trees_.parents(s->slot)); !fault.empty())
      return "tree of slot " + std::to_string(s->slot) + ": " + fault;
    if (trees_.tokens(s->slot)[0] != s->tokens.back())
      return "tree of slot " + std::to_string(s->slot) + ": its root is not the last token";
  }
  if (running_.size() + free_slots_.size() != by_slot_.size())
    return "a slot is neither free nor in use";
  if (!std::is_sorted(running_.begin(), running_.end(), arrived_before) ||
      !std::is_sorted(waiting_.begin(), waiting_.end(), arrived_before))
    return "sequences are not in the order of arrival";
  for (const auto& s : waiting_)
    if (s->is_running() || !s->pages.empty()) return "a waiting sequence holds a slot or pages";
  return pages_.check_integrity(running);
}

}  // namespace foretoken
