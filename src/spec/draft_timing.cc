#include "spec/draft_timing.h"

#include <algorithm>
#include <chrono>

namespace foretoken {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

// Steps with prompts in them say nothing about the rows of trees; before one, the engine may have
// been idle.
void DraftTiming::observe(const CommittedRows& rows) {
  const double time = now();
  const bool is_decode =
      grown_ > 0 && std::ranges::all_of(rows.plan.entries, [](const StepEntry& entry) {
        return entry.has_tree && entry.chain.empty();
      });
  int tokens = 0;
  for (const WalkSeq& seq : rows.walk.seqs) {
    tokens += static_cast<int>(seq.emitted.size());
    if (promised_.size() <= at(seq.slot)) promised_.resize(at(seq.slot) + 1);
    if (!seq.path.empty())
      worth_.add_outcome(promised_[at(seq.slot)], static_cast<int>(seq.path.size()) - 1);
    promised_[at(seq.slot)] = 0;
  }
  if (is_decode) {
    worth_.add_step(rows.batch.rows, time - grown_);
    worth_.add_round(tokens, time - observed_);
  }
  observed_ = time;
  grown_ = 0;
}

void DraftTiming::begin_level() { level_begin_ = now(); }
void DraftTiming::end_level() { worth_.add_level(now() - level_begin_); }
void DraftTiming::plant(SeqSlot slot, double promised) { promised_[at(slot)] = promised; }
void DraftTiming::end_growth() { grown_ = now(); }

}  // namespace foretoken
