#include "engine/sequence.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {

Sequence::Sequence(Request accepted, std::uint64_t arrival_number)
    : request(std::move(accepted)),
      arrival(arrival_number),
      tokens(std::move(request.prompt)),
      hashes(tokens, request.cache_salt),
      prompt_tokens_(size()),
      next_hidden_(request.hidden_start) {
  next_score_ = request.logprob_start >= 0 ? std::min(request.logprob_start, prompt_tokens())
                                           : prompt_tokens();
  if (next_score_ == 0) {  // nothing precedes the first token, so nothing predicts it
    delta_.prompt_scores.push_back({.token = tokens.front(), .top = {}, .token_logprobs = {}});
    next_score_ = 1;
  }
  if (request.constraint && samples()) constraint_ = request.constraint->start();
}

Sequence::~Sequence() {
  if (is_accepted && request.stream)
    end_stream(FinishReason::kOutOfMemory,
               "The server ran out of memory while it worked on this request.");
}

void Sequence::end_stream(FinishReason reason, std::string_view message) const {
  if (request.stream->finished()) return;
  TokenDelta delta;
  delta.finish = Finish{.reason = reason, .stop_token = kNoToken, .message = {}};
  try {
    delta.finish->message = message;
  } catch (const std::bad_alloc&) {  // then without words
  }
  request.stream->push(std::move(delta));
}

int Sequence::reusable_tokens() const {
  // The row of the last token is never stored; the row before position p predicts p.
  const int unscored = is_scoring() ? next_score_ - 1 : size() - 1;
  return next_hidden_ < 0 ? unscored : std::min(unscored, next_hidden_);
}

StepEntry Sequence::plan_prompt(int rows) {
  const bool reaches_root = samples() && rows == pending_rows();
  const int chain = reaches_root ? rows - 1 : rows;
  const int first_scored = rows_before_scores();  // chain row that predicts the next score
  StepEntry entry{.slot = slot,
                  .owner = arrival,
                  .chain = std::span(tokens).subspan(at(planned), at(chain)),
                  .has_tree = reaches_root,
                  .root = reaches_root ? tokens.back() : kNoToken,
                  .max_nodes = 1,
                  .score_from = is_scoring() && first_scored < chain ? first_scored : -1,
                  .after_chain = tokens[at(planned + chain)],
                  .hidden_from = next_hidden_,
                  .constraint = constraint_.get()};
  planned += chain;
  most_stored += rows;
  is_rooted = reaches_root;
  ++in_flight;
  trees_in_flight += reaches_root ? 1 : 0;
  return entry;
}

StepEntry Sequence::plan_tree(int max_nodes) {
  most_stored += max_nodes;
  ++in_flight;
  ++trees_in_flight;
  return {.slot = slot,
          .owner = arrival,
          .has_tree = true,
          .max_nodes = max_nodes,
          .hidden_from = next_hidden_,
          .constraint = constraint_.get()};
}

std::optional<Finish> Sequence::commit(const StepEntry& entry, WalkSeq& walk) {
  if (entry.score_from >= 0) commit_scores(entry, walk);
  const auto path = static_cast<int>(walk.path.size());
  const int first = stored;
  stored += static_cast<int>(entry.chain.size()) + path;
  most_stored -= (entry.has_tree ? entry.max_nodes : 0) - path;
  --in_flight;
  trees_in_flight -= entry.has_tree ? 1 : 0;
  is_planted = entry.has_tree;
  if (!entry.has_tree) {
    commit_hidden(entry, walk, first);
    if (samples() || stored < size() - 1) return std::nullopt;
    return Finish{.reason = FinishReason::kLength, .stop_token = kNoToken, .message = {}};
  }

  std::optional<Finish> finish;
  const int before = generated();
  for (std::size_t i = 0; i < walk.emitted.size() && !finish; ++i) {
    const bool is_last = i + 1 == walk.emitted.size();
    if (is_last && walk.is_void) {
      finish = Finish{.reason = FinishReason::kVoid,
                      .stop_token = kNoToken,
                      .message = "the model gave no numbers (NaN): its weights may be damaged"};
    } else if (is_last && walk.is_stuck) {
      finish = Finish{
          .reason = FinishReason::kStuck, .stop_token = kNoToken, .message = constraint_->fault()};
    } else {
      finish = commit_token(std::move(walk.emitted[i]));
      if (is_last && walk.is_complete)
        finish = Finish{.reason = FinishReason::kStop, .stop_token = kNoToken, .message = {}};
    }
  }
  stored = std::min(stored, size());
  commit_hidden(entry, walk, first);

  // The step that ends a prompt had nothing to verify; counting it would understate what drafts do.
  if (before > 0 && entry.chain.empty()) {
    const auto accepted = std::min<std::size_t>(walk.path.size() - 1, at(generated() - before));
    ++delta_.verify_steps;
    delta_.accepted_drafts += static_cast<int>(accepted);
    if (accept_histogram_.size() <= accepted) accept_histogram_.resize(accepted + 1, 0);
    ++accept_histogram_[accepted];
  }
  return finish;
}

void Sequence::commit_scores(const StepEntry& entry, WalkSeq& walk) {
  int position = stored + entry.score_from + 1;
  for (SampledToken& score : walk.scored) {
    if (position >= prompt_tokens()) break;  // output that is computed again after a preemption
    CHECK(position == next_score_)
        << "score of position " << position << ", wanted " << next_score_;
    delta_.prompt_scores.push_back(std::move(score));
    next_score_ = ++position;
  }
}

// What is computed again after a preemption was sent before; of the last token nothing is known.
void Sequence::commit_hidden(const StepEntry& entry, WalkSeq& walk, int first_stored) {
  int position = std::max(entry.hidden_from, first_stored);
  for (HiddenState& state : walk.hidden) {
    if (position == next_hidden_ && position < size() - 1) {
      delta_.hidden.push_back(std::move(state));
      ++next_hidden_;
    }
    ++position;
  }
}

std::optional<Finish> Sequence::commit_token(SampledToken&& sampled) {
  const Token token = sampled.token;
  tokens.push_back(token);
  delta_.tokens.push_back(std::move(sampled));
  const auto& stops = request.sampling.stop_tokens;
  if (std::find(stops.begin(), stops.end(), token) != stops.end())
    return Finish{.reason = FinishReason::kStop, .stop_token = token, .message = {}};
  if (tokens_left() == 0)
    return Finish{.reason = FinishReason::kLength, .stop_token = kNoToken, .message = {}};
  return std::nullopt;
}

bool Sequence::admitted(int cached) {
  if (std::exchange(was_admitted_, true)) return false;
  delta_.cached_tokens = cached;
  return true;
}

void Sequence::entered(int stored_tokens) {
  stored = planned = most_stored = stored_tokens;
  nodes = 1;
  drafts = {};
}

void Sequence::offered(int count) { delta_.proposed_drafts += count; }

// An end in the middle of a path cuts what was accepted behind it.
void Sequence::traced(DraftTrace trace, int tokens) {
  if (tokens == 0) return;
  trace.tokens = tokens;
  if (trace.accepted.size() > at(tokens)) trace.accepted.resize(at(tokens));
  delta_.traces.push_back(std::move(trace));
}

void Sequence::left() {
  delta_.drafts.add(drafts);
  drafts = {};
  states = {};
  snapshots.clear();
  branch = 0;
  slot = -1;
}

void Sequence::preempted() {
  ++delta_.retractions;
  is_planted = is_rooted = false;
  entered(0);
}

TokenDelta Sequence::take_delta() {
  std::vector<int> histogram = accept_histogram_;  // before anything is moved: it may throw
  TokenDelta out = take_totals();
  out.accept_histogram = std::move(histogram);
  return out;
}

// Needs no memory.
TokenDelta Sequence::take_totals() {
  TokenDelta out = std::move(delta_);
  delta_ = {};
  delta_.cached_tokens = out.cached_tokens;
  delta_.retractions = out.retractions;
  delta_.verify_steps = out.verify_steps;
  delta_.accepted_drafts = out.accepted_drafts;
  delta_.proposed_drafts = out.proposed_drafts;
  delta_.drafts = out.drafts;
  out.drafts.add(drafts);  // of the slot that it still has
  return out;
}

TokenDelta Sequence::take_last_delta(Finish finish) {
  TokenDelta out = take_totals();
  out.accept_histogram = std::move(accept_histogram_);
  out.finish = std::move(finish);
  return out;
}

}  // namespace foretoken
