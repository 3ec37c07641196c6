#include "engine/step_log.h"

#include <string>

#include "base/log.h"

namespace foretoken {
namespace {

double usage(const EngineLoad& load) {
  return load.total_tokens > 0 ? static_cast<double>(load.used_tokens) / load.total_tokens : 0.0;
}

double per_second(double count, std::chrono::steady_clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  return seconds > 0 ? count / seconds : 0.0;
}

std::string_view words_of(std::string_view reason) {
  if (reason == "request") return "requests turned drafts off";
  if (reason == "acceptance") return "drafts did not come true, or there were none";
  if (reason == "cost") return "drafts cost more than they saved";
  return "drafts save time";
}

}  // namespace

// As in SGLang the throughput is that of the prompt rows before this step, known only now.
void StepLog::prefill(const PrefillFacts& facts, const EngineLoad& load) {
  const auto now = Clock::now();
  const double throughput = per_second(last_prefill_tokens_, now - last_prefill_);
  last_prefill_ = now;
  last_prefill_tokens_ = facts.new_tokens;
  log_info(
      "Prefill batch, #new-seq: {}, #new-token: {}, #cached-token: {}, token usage: {:.2f}, "
      "#running-req: {}, #queue-req: {}, #pending-token: {}, input throughput (token/s): {:.2f}",
      facts.new_sequences, facts.new_tokens, facts.cached_tokens, usage(load), load.running,
      load.queued, load.pending_tokens, throughput);
}

bool StepLog::count_decode_step() {
  ++decode_steps_;
  return interval_ > 0 && decode_steps_ % interval_ == 0;
}

double StepLog::decode(const EngineStats& totals, const EngineLoad& load) {
  const auto now = Clock::now();
  const auto since = [&](std::uint64_t EngineStats::* counter) {
    return static_cast<double>(totals.*counter - last_.*counter);
  };
  const double throughput = per_second(since(&EngineStats::generated_tokens), now - last_decode_);
  const double rounds = since(&EngineStats::verify_steps);
  const double accepted = since(&EngineStats::accepted_drafts);
  const double proposed = since(&EngineStats::proposed_drafts);
  std::string acceptance;
  // Once there have been drafts, lines without any say so, too: who reads them looks for it.
  if (totals.proposed_drafts > 0 && rounds > 0)
    acceptance =
        fmt::format(", accept len: {:.2f}, accept rate: {:.2f}", (accepted + rounds) / rounds,
                    proposed > 0 ? accepted / proposed : 0.0);
  log_info(
      "Decode batch, #running-req: {}, #token: {}, token usage: {:.2f}{}, "
      "gen throughput (token/s): {:.2f}, #queue-req: {}",
      load.running, load.used_tokens, usage(load), acceptance, throughput, load.queued);
  last_decode_ = now;
  last_ = totals;
  return throughput;
}

void StepLog::drafts(const EngineStats& totals, Clock::time_point now) {
  if (now - drafts_told_ < std::chrono::minutes(1)) return;
  drafts_told_ = now;
  const DraftReport news = totals.drafts.since(last_drafts_.drafts);
  const std::uint64_t proposed = totals.proposed_drafts - last_drafts_.proposed_drafts;
  const std::uint64_t accepted = totals.accepted_drafts - last_drafts_.accepted_drafts;
  last_drafts_ = totals;
  const std::string_view reason = news.reason();
  const bool is_usual = reason.empty() && told_reason_.empty();
  if (news.steps == 0 || is_usual) return;
  told_reason_ = reason;
  log_info("Drafts: in {} of {} steps of requests, {} of {} tokens accepted: {}.", news.drafted,
           news.steps, accepted, proposed, words_of(reason));
}

void StepLog::restart_clock(const EngineStats& totals) {
  last_decode_ = last_prefill_ = Clock::now();
  last_prefill_tokens_ = 0;
  last_ = totals;
}

}  // namespace foretoken
