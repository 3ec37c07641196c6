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
      max_nodes_(parts.max_nodes),
      scratch_slots_(parts.scratch_slots),
      pages_(parts.pool, parts.cache, changes_),
      reserve_(config.output_estimate_clip),
      log_(config.decode_log_interval),
      roster_(limits_of(config)),
      by_slot_(at(parts.slots), nullptr),
      stats_(before) {
  running_.reserve(by_slot_.size());
  for (SeqSlot slot = parts.slots - 1; slot >= 0; --slot) free_slots_.push_back(slot);
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
  cache_.clear();
  for (const auto& s : running_)
    if (s && !s->request.stream->finished()) ++stats_.aborted_requests;
  running_.clear();
  leaving_.clear();
  return std::move(waiting_);
}

// ---- plan

std::optional<StepOrder> Scheduler::plan() {
  prefill_ = {};
  retracted_ = retracted_tokens_ = 0;
  planned_at_ = Clock::now();
  drop_ended();
  if (is_ahead() && must_drain()) return std::nullopt;
  wants_drain_ = false;
  preempt_for_test();
  StepOrder plan;
  int prompt_rows = prompt_row_budget();
  plan_running(plan, prompt_rows);
  // What was preempted for lack of pages must not take them back at once.
  const bool pages_ran_short = wants_drain_ || (retracted_ > 0 && config_.force_preempt_every == 0);
  if (!pages_ran_short) admit(plan, prompt_rows);
  report_plan(plan);
  if (plan.entries.empty() && (is_ahead() || !has_news())) return std::nullopt;
  if (!plan.entries.empty()) ++stats_.steps;
  plan.changes = std::exchange(changes_, {});
  ++planned_;
  return plan;
}

bool Scheduler::must_drain() const { return wants_drain_ || is_time_to_preempt(); }

// Decodes take their rows first, but prompts keep a quarter of a step, so neither starves.
int Scheduler::prompt_row_budget() const {
  const int chunk = config_.chunked_prefill_size;
  if (chunk <= 0) return std::max(1, config_.max_prefill_tokens);
  int decode_rows = 0;
  for (const auto& s : running_)
    if (s->is_rooted) decode_rows += s->nodes;
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

void Scheduler::plan_running(StepOrder& plan, int& prompt_rows) {
  for (std::size_t i = 0; i < running_.size(); ++i) {  // make_room may take away the last ones
    Sequence& s = *running_[i];
    if (s.is_sure_to_end()) continue;
    if (s.is_rooted) {
      const int nodes = is_ahead() ? make_room_ahead(s) : make_room(s);
      if (nodes > 0) plan.entries.push_back(s.plan_tree(nodes));
    } else if (const int rows = chunk_rows(s, prompt_rows, plan); rows > 0) {
      plan_prompt(plan, s, rows);
      prompt_rows -= rows;
    }
  }
  remove_released();
}

void Scheduler::plan_prompt(StepOrder& plan, Sequence& s, int rows) {
  plan.entries.push_back(s.plan_prompt(rows));
  plan.prompt_tokens += rows;
  prefill_.new_tokens += rows;
}

// Pages for everything this step may append, and room for the drafter behind it; how many nodes its
// tree may have, 0: it is not computed. Costs, in this order: unused cached text, that room, this
// sequence's own proposals, the youngest sequences, the request itself. Those that are preempted
// are younger, so they have no entry in the plan yet.
int Scheduler::make_room(Sequence& s) {
  int nodes = s.nodes;
  if (pages_.grow(s, s.stored + nodes + scratch_slots_)) return nodes;
  while (!pages_.grow(s, s.stored + nodes)) {
    if (nodes > 1) {
      const int room = static_cast<int>(s.pages.size()) * kPageTokens - s.stored;
      nodes = std::max(1, room);
    } else if (running_.size() == 1) {
      finish(s, FinishReason::kOutOfMemory,
             "The KV cache has no room for another token of this request.");
      return 0;
    } else {
      const bool is_itself = running_.back().get() == &s;
      preempt(*running_.back());
      if (is_itself) return 0;
    }
  }
  return nodes;
}

// The same for as much as the steps in flight may store at most, and for the largest tree that they
// may grow. Nobody pays for it but unused cached text: what it is worth is not known yet.
int Scheduler::make_room_ahead(Sequence& s) {
  const int nodes = s.in_flight > 0 ? max_nodes_ : s.nodes;
  if (pages_.grow(s, s.most_stored + nodes + scratch_slots_)) return nodes;
  if (pages_.grow(s, s.most_stored + nodes)) return nodes;
  wants_drain_ = true;
  return 0;
}

// Window by window of the queue, for as long as all of a window could be admitted.
void Scheduler::admit(StepOrder& plan, int& prompt_rows) {
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
Scheduler::Admission Scheduler::try_admit(Sequence& s, StepOrder& plan, int& prompt_rows) {
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
  plan_prompt(plan, s, chunk);
  prompt_rows -= chunk;
  return Admission::kAdmitted;
}

// Gives it slot and pages.
void Scheduler::run(std::unique_ptr<Sequence> owner, std::vector<Page> matched) {
  Sequence& s = *owner;
  const SeqSlot slot = free_slots_.back();
  free_slots_.pop_back();
  SlotChange& entering = changes_.emplace_back();
  entering.slot = slot;
  entering.opening = {.draft = {.tokens = s.tokens,
                                .prompt_tokens = at(s.prompt_tokens()),
                                .scope = s.request.draft_scope,
                                .prediction = s.request.prediction,
                                .constraint = s.constraint(),
                                .wish = s.request.draft_wish},
                      .params = &s.request.sampling,
                      .stored = static_cast<std::int32_t>(matched.size()) * kPageTokens,
                      .max_new = s.request.max_new_tokens};
  pages_.open(s, slot, std::move(matched));
  CHECK(pages_.grow(s, s.size())) << "pages counted as available were not";
  if (scratch_slots_ > 0) pages_.grow(s, s.size() + scratch_slots_);  // the drafter can do without
  by_slot_[at(slot)] = &s;
  roster_.runs(s, planned_at_);
  reserved_pages_ += reserved_pages(s);
  computing_.push_back(&s);
  const auto place = std::upper_bound(running_.begin(), running_.end(), owner, arrived_before);
  running_.insert(place, std::move(owner));
}

// ---- retire

void Scheduler::retire(StepHandle& step) {
  StepResult& result = step.wait();
  const StepOrder& order = step.order();
  ++retired_;
  bool has_decoded = false;
  for (std::size_t i = 0; i < order.entries.size(); ++i) {
    const StepEntry& entry = order.entries[i];
    Sequence* running = by_slot_[at(entry.slot)];
    if (running == nullptr || running->arrival != entry.owner) continue;  // it has left meanwhile
    Sequence& s = *running;
    const SeqOutcome& outcome = result.outcomes[i];
    s.nodes = outcome.next_nodes;
    s.drafts = outcome.report;
    s.offered(outcome.drafts);
    stats_.proposed_drafts += static_cast<std::uint64_t>(outcome.drafts);
    const int generated = s.generated(), accepted = s.accepted_drafts();
    const int verified = s.verify_steps();
    std::optional<Finish> end = s.commit(entry, result.walk.seqs[i]);
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
  while (!leaving_.empty() && leaving_.front().step <= retired_) leaving_.pop_front();
  if (order.entries.empty()) return;
  count_step(order, result.seconds, has_decoded);
  if (!has_decoded) return;
  reserve_.relax();
  if (log_.count_decode_step()) stats_.gen_throughput = log_.decode(stats_, load());
}

void Scheduler::count_step(const StepPlan& plan, const StepSeconds& seconds, bool has_decoded) {
  const int prompt_tokens = plan.prompt_tokens;
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

bool Scheduler::is_time_to_preempt() const {
  const int every = config_.force_preempt_every;
  return every > 0 && stats_.steps % static_cast<std::uint64_t>(every) == 0;
}

// Of a sequence that has sampled since its admission, so that the hook cannot stop all progress.
void Scheduler::preempt_for_test() {
  if (!is_time_to_preempt()) return;
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

void Scheduler::release(Sequence& s) {
  stats_.drafts.add(s.drafts);
  pages_.close(s);
  SlotChange& leaving = changes_.emplace_back();
  leaving.kind = SlotChange::Kind::kClose;
  leaving.slot = s.slot;
  by_slot_[at(s.slot)] = nullptr;
  free_slots_.push_back(s.slot);
  s.left();
}

void Scheduler::remove_released() {
  for (auto& s : running_)
    if (!s->is_running()) leaving_.push_back({planned_ + 1, std::move(s)});
  std::erase(running_, nullptr);
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
  changes_.emplace_back().kind = SlotChange::Kind::kForget;
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
  for (const auto& s : running_) load.pending_tokens += s->pending_rows();
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
  log_.prefill(prefill_, now);
}

// What it has once it makes the changes.
std::string Scheduler::check_device(Step& step) const {
  for (const auto& s : running_) {
    if (!s->is_planted) continue;
    const auto tokens = step.trees().tokens(s->slot);
    if (auto fault = tree_fault(tokens, step.trees().parents(s->slot)); !fault.empty())
      return "tree of slot " + std::to_string(s->slot) + ": " + fault;
    if (tokens[0] != s->tokens.back())
      return "tree of slot " + std::to_string(s->slot) + ": its root is not the last token";
    if (static_cast<int>(tokens.size()) != s->nodes)
      return "tree of slot " + std::to_string(s->slot) + ": its size was reported wrongly";
  }
  return {};
}

std::string Scheduler::check_integrity(Step* step) const {
  std::vector<const Sequence*> running;
  for (const auto& s : running_) {
    running.push_back(s.get());
    if (by_slot_[at(s->slot)] != s.get())
      return "slot " + std::to_string(s->slot) + " does not lead to its sequence";
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
  if (step == nullptr || is_ahead()) return pages_.check_integrity(running, nullptr);
  if (auto fault = check_device(*step); !fault.empty()) return fault;
  SeqTable table = step->table();
  for (const SlotChange& change : changes_) apply(change, table);
  return pages_.check_integrity(running, &table);
}

}  // namespace foretoken
