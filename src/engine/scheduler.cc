#include "engine/scheduler.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/log.h"
#include "base/rng.h"
#include "engine/step_memory.h"

namespace foretoken {
namespace {

bool arrived_before(const std::unique_ptr<Sequence>& a, const std::unique_ptr<Sequence>& b) {
  return a->arrival < b->arrival;
}

Roster::Limits limits_of(const EngineConfig& config) {
  const auto seconds = [](double count) {
    return std::chrono::duration_cast<Roster::Clock::duration>(
        std::chrono::duration<double>(count));
  };
  return {.waiting = seconds(config.waiting_timeout_seconds),
          .running = seconds(config.running_timeout_seconds)};
}

}  // namespace

Scheduler::Scheduler(const EngineConfig& config, const Parts& parts, const EngineStats& before)
    : config_(config),
      cache_(parts.cache),
      trees_(parts.trees),
      drafter_(parts.drafter),
      scratch_slots_(parts.drafter.needs().scratch_slots),
      pages_(parts.pool, parts.cache, parts.table),
      reserve_(config.output_estimate_clip),
      log_(config.decode_log_interval),
      roster_(limits_of(config)),
      by_slot_(at(parts.trees.slots()), nullptr),
      drafter_is_open_(by_slot_.size(), 0),
      stats_(before) {
  running_.reserve(by_slot_.size());
  for (SeqSlot slot = parts.trees.slots() - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  stats_.total_tokens = config.total_tokens;
}

void Scheduler::add(std::unique_ptr<Sequence> accepted) {
  accepted->is_accepted = true;
  accepted->arrival = arrivals_++;
  try {
    roster_.add(*accepted);
    enqueue(accepted);
  } catch (const std::bad_alloc&) {
    roster_.remove(*accepted);
    ++stats_.aborted_requests;
  }
}

WaitQueue Scheduler::abandon() {
  pages_.forget_all();
  for (SeqSlot slot = 0; slot < trees_.slots(); ++slot)
    if (drafter_is_open_[at(slot)] != 0) close_drafter(slot);
  for (const auto& s : running_)
    if (s && !s->request.stream->finished()) ++stats_.aborted_requests;
  running_.clear();
  return std::move(waiting_);
}

// ---- plan

std::optional<StepPlan> Scheduler::plan() {
  prefill_ = {};
  retracted_ = retracted_tokens_ = 0;
  planned_at_ = Clock::now();
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
  return s.is_scoring() ? std::min(rows, s.rows_before_scores() + kScoredRows) : rows;
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
      const int room = static_cast<int>(s.pages.size()) * kPageTokens - s.stored;
      trees_.prune(s.slot, std::max(1, room));
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

// Window by window of the queue, for as long as all of a window could be admitted.
void Scheduler::admit(StepPlan& plan, int& prompt_rows) {
  if (waiting_.empty() || prompt_rows <= 0 || free_slots_.empty()) return;
  computing_.clear();
  reserved_pages_ = 0;
  for (const auto& s : running_) {
    reserved_pages_ += reserved_pages(*s);
    if (!s->is_planted) computing_.push_back(s.get());
  }
  const AdmissionPolicy policy{config_.policy, mix_seed(config_.policy_seed, stats_.steps)};
  for (bool all_left = true; all_left && !waiting_.empty();) {
    for (Sequence* candidate : admission_order(waiting_, policy, cache_, arrivals_)) {
      if (prompt_rows <= 0 || free_slots_.empty()) return;
      if (config_.radix_cache && prefix_is_coming(*candidate, computing_, cache_))
        all_left = false;
      else if (try_admit(*candidate, plan, prompt_rows) == Admission::kMustWait)
        return;
    }
  }
}

int Scheduler::reserved_pages(const Sequence& s) const {
  return std::max(0, pages_for(s.size() + reserve_.tokens(s)) - static_cast<int>(s.pages.size()));
}

bool Scheduler::fits(const Sequence& s, const SequencePages::Prospect& cached) const {
  const int output = running_.empty() ? 0 : reserve_.tokens(s);
  const int wanted = pages_for(s.size() + output) - cached.pages + reserved_pages_;
  return wanted <= pages_.available() - cached.evictable;  // what is reused is not evicted
}

bool Scheduler::must_wait(const Sequence& s, const SequencePages::Prospect& cached,
                          const StepPlan& plan, int prompt_rows) const {
  const int rows = s.pending_rows() - cached.pages * kPageTokens;
  if (rows > prompt_rows && config_.chunked_prefill_size <= 0 && plan.prompt_tokens > 0)
    return true;
  return !running_.empty() && !fits(s, cached);
}

// Whether it must wait is decided before its pages are collected: it is asked again in every step.
Scheduler::Admission Scheduler::try_admit(Sequence& s, StepPlan& plan, int& prompt_rows) {
  SequencePages::Prospect cached = pages_.look_up(s);
  if (must_wait(s, cached, plan, prompt_rows)) {
    pages_.touch(s, cached);
    return Admission::kMustWait;
  }
  std::vector<Page> matched = pages_.match(s);
  cached = {.pages = static_cast<int>(matched.size()), .evictable = 0};  // held now
  if (must_wait(s, cached, plan, prompt_rows)) return Admission::kMustWait;

  const int cached_tokens = cached.pages * kPageTokens;
  if (s.admitted(cached_tokens)) {
    stats_.prompt_tokens += static_cast<std::uint64_t>(s.prompt_tokens());
    stats_.cached_prompt_tokens += static_cast<std::uint64_t>(cached_tokens);
    const auto waited = planned_at_ - s.request.accepted;
    stats_.queue_time.add(std::chrono::duration<double>(waited).count());
  }
  if (s.pending_rows() == cached_tokens) {  // nothing to sample or score
    end(s, FinishReason::kLength, {});
    return Admission::kEnded;
  }
  if (!fits(s, cached)) {
    end(s, FinishReason::kOutOfMemory, "The KV cache has no room for the text of this request.");
    return Admission::kEnded;
  }
  run(dequeue(s), std::move(matched));
  ++prefill_.new_sequences;
  prefill_.text_tokens += s.size();
  prefill_.cached_tokens += cached_tokens;
  const int chunk = chunk_rows(s, prompt_rows, plan);
  add_entry(plan, s, chunk);
  prompt_rows -= chunk;
  return Admission::kAdmitted;
}

// Gives it slot and pages.
void Scheduler::run(std::unique_ptr<Sequence> owner, std::vector<Page> matched) {
  Sequence& s = *owner;
  const SeqSlot slot = free_slots_.back();
  free_slots_.pop_back();
  pages_.open(s, slot, std::move(matched));
  CHECK(pages_.grow(s, s.size())) << "pages counted as available were not";
  if (scratch_slots_ > 0) pages_.grow(s, s.size() + scratch_slots_);  // the drafter can do without
  by_slot_[at(slot)] = &s;
  drafter_.open(slot, {.tokens = s.tokens,
                       .prompt_tokens = at(s.prompt_tokens()),
                       .scope = s.request.draft_scope,
                       .prediction = s.request.prediction,
                       .constraint = s.constraint(),
                       .wish = s.request.draft_wish});
  drafter_is_open_[at(slot)] = 1;
  roster_.runs(s, planned_at_);
  reserved_pages_ += reserved_pages(s);
  computing_.push_back(&s);
  const auto place = std::upper_bound(running_.begin(), running_.end(), owner, arrived_before);
  running_.insert(place, std::move(owner));
}

// ---- retire

void Scheduler::retire(StepHandle& step) {
  Walk& walk = step.wait();
  bool has_decoded = false;
  for (std::size_t i = 0; i < walk.seqs.size(); ++i) {
    const StepEntry& entry = step.plan().entries[i];
    Sequence& s = *by_slot_[at(entry.slot)];
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
  count_step(step, has_decoded);
  if (!has_decoded) return;
  reserve_.relax();
  if (log_.count_decode_step()) stats_.gen_throughput = log_.decode(stats_, load());
}

void Scheduler::count_step(const StepHandle& step, bool has_decoded) {
  const StepSeconds& seconds = step.seconds();
  const int prompt_tokens = step.plan().prompt_tokens;
  double& total = prompt_tokens == 0 ? stats_.decode_step_seconds
                  : has_decoded      ? stats_.mixed_step_seconds
                                     : stats_.prompt_step_seconds;
  total += seconds.verify + seconds.draft;
  stats_.computed_prompt_tokens += static_cast<std::uint64_t>(prompt_tokens);
  if (!has_decoded) return;
  stats_.verify_time.add(seconds.verify);
  stats_.draft_time.add(seconds.draft);
}

// ---- ways out

void Scheduler::drop_ended() {
  for (Sequence* s : roster_.take_cancelled()) cancel(*s);
  while (const auto overdue = roster_.next_overdue(planned_at_))
    end(*overdue->sequence, FinishReason::kDeadline, overdue->message);
  remove_released();
}

void Scheduler::abort(const std::string& id) {
  for (Sequence* s : roster_.named(id)) cancel(*s);
  remove_released();
}

// In SGLang's words.
void Scheduler::cancel(Sequence& s) {
  end(s, FinishReason::kCancelled, s.is_running() ? "Aborted" : "Abort in waiting queue");
}

// Of a sequence that waits or runs; one that runs is removed by remove_released().
void Scheduler::end(Sequence& s, FinishReason reason, const std::string& message) {
  const std::unique_ptr<Sequence> owner = s.is_running() ? nullptr : dequeue(s);
  finish(s, reason, message);
}

void Scheduler::cancel_all() {
  for (auto& s : running_) cancel(*s);
  remove_released();
  while (!waiting_.empty()) cancel(*waiting_.begin()->second);
}

void Scheduler::fail_all(FinishReason reason, const std::string& message) {
  for (auto& s : running_) finish(*s, reason, message);
  remove_released();
  while (!waiting_.empty()) end(*waiting_.begin()->second, reason, message);
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
  enqueue(*own);
  running_.erase(own);
}

void Scheduler::finish(Sequence& s, FinishReason reason, const std::string& message) {
  finish(s, Finish{.reason = reason, .stop_token = kNoToken, .message = message});
}

void Scheduler::finish(Sequence& s, Finish end) {
  if (s.is_running()) release(s);
  roster_.remove(s);
  const bool is_complete = end.reason == FinishReason::kStop || end.reason == FinishReason::kLength;
  ++(is_complete ? stats_.finished_requests : stats_.aborted_requests);
  s.request.stream->push(s.take_last_delta(std::move(end)));
}

void Scheduler::close_drafter(SeqSlot slot) {
  drafter_is_open_[at(slot)] = 0;
  drafter_.close(slot);
}

void Scheduler::release(Sequence& s) {
  const DraftReport drafts = drafter_.report(s.slot);
  s.drafted(drafts);
  stats_.drafts.add(drafts);
  close_drafter(s.slot);
  by_slot_[at(s.slot)] = nullptr;
  free_slots_.push_back(s.slot);
  pages_.close(s);
}

void Scheduler::remove_released() {
  std::erase_if(running_, [](const auto& s) { return !s->is_running(); });
}

// Where it throws, the sequence stays with the caller.
void Scheduler::enqueue(std::unique_ptr<Sequence>& s) {
  roster_.waits(*s, Clock::now());
  const int rows = s->pending_rows();
  const std::uint64_t arrival = s->arrival;
  waiting_.emplace(arrival, std::move(s));
  waiting_rows_ += rows;
}

std::unique_ptr<Sequence> Scheduler::dequeue(const Sequence& s) {
  waiting_rows_ -= s.pending_rows();
  return std::move(waiting_.extract(s.arrival).mapped());
}

bool Scheduler::flush_cache() {
  if (!is_idle()) return false;
  cache_.clear();
  drafter_.forget();
  return true;
}

// ---- figures

EngineStats Scheduler::stats() const {
  EngineStats stats = stats_;
  stats.running = static_cast<int>(running_.size());
  stats.queued = queued();
  // Whole pages count, and the last of all may hold less.
  stats.used_tokens = std::min(pages_.used_tokens(), stats.total_tokens);
  stats.cached_tokens = std::min(pages_.cached_tokens(), stats.total_tokens - stats.used_tokens);
  return stats;
}

EngineLoad Scheduler::load() const {
  EngineLoad load{.running = static_cast<int>(running_.size()),
                  .queued = queued(),
                  .used_tokens = pages_.used_tokens(),
                  .total_tokens = stats_.total_tokens,
                  .pending_tokens = waiting_rows_};
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
  EngineLoad now = load();
  now.running -= prefill_.new_sequences;
  now.pending_tokens -= plan.prompt_tokens;  // these are in the line already
  log_.prefill(prefill_, now);
}

std::string Scheduler::check_integrity() const {
  std::vector<const Sequence*> running;
  for (const auto& s : running_) {
    running.push_back(s.get());
    if (by_slot_[at(s->slot)] != s.get())
      return "slot " + std::to_string(s->slot) + " does not lead to its sequence";
    if (!s->is_planted) continue;
    if (auto fault = tree_fault(trees_.tokens(s->slot), trees_.parents(s->slot)); !fault.empty())
      return "tree of slot " + std::to_string(s->slot) + ": " + fault;
    if (trees_.tokens(s->slot)[0] != s->tokens.back())
      return "tree of slot " + std::to_string(s->slot) + ": its root is not the last token";
  }
  if (running_.size() + free_slots_.size() != by_slot_.size())
    return "a slot is neither free nor in use";
  if (!std::is_sorted(running_.begin(), running_.end(), arrived_before))
    return "sequences are not in the order of arrival";
  std::int64_t rows = 0;
  for (const auto& [arrival, s] : waiting_) {
    if (s->is_running() || !s->pages.empty()) return "a waiting sequence holds a slot or pages";
    if (s->arrival != arrival) return "a waiting sequence stands in another's place";
    rows += s->pending_rows();
  }
  if (rows != waiting_rows_) return "the rows of waiting sequences are counted wrongly";
  if (roster_.size() != running_.size() + waiting_.size())
    return "the roster holds others than those that wait or run";
  if (auto fault = roster_.check_integrity(); !fault.empty()) return fault;
  return pages_.check_integrity(running);
}

}  // namespace foretoken
