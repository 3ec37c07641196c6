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
      prompt_tokens_(size()) {
  next_score_ = request.logprob_start >= 0 ? std::min(request.logprob_start, prompt_tokens())
                                           : prompt_tokens();
  if (next_score_ == 0) {  // nothing precedes the first token, so nothing predicts it
    delta_.prompt_scores.push_back({.token = tokens.front(), .top = {}, .token_logprobs = {}});
    next_score_ = 1;
  }
  if (request.constraint && samples()) constraint_ = request.constraint->start();
}

Sequence::~Sequence() {
  if (!is_accepted || !request.stream || request.stream->finished()) return;
  TokenDelta delta;
  delta.finish =
      Finish{.reason = FinishReason::kOutOfMemory, .stop_token = kNoToken, .message = {}};
  try {
    delta.finish->message = "The server ran out of memory while it worked on this request.";
  } catch (const std::bad_alloc&) {  // then without words
  }
  request.stream->push(std::move(delta));
}

int Sequence::reusable_tokens() const {
  // The row of the last token is never stored; the row before position p predicts p.
  return is_scoring() ? next_score_ - 1 : size() - 1;
}

StepEntry Sequence::make_entry(int rows) const {
  const bool reaches_root = samples() && rows == pending_rows();
  const int chain = reaches_root ? rows - 1 : rows;
  const int first_scored = next_score_ - 1 - stored;  // chain row that predicts next_score_
  return {.slot = slot,
          .chain = std::span(tokens).subspan(at(stored), at(chain)),
          .has_tree = reaches_root,
          .score_from = is_scoring() && first_scored < chain ? first_scored : -1,
          .after_chain = tokens[at(stored + chain)],
          .params = &request.sampling,
          .counts = request.sampling.has_penalties() ? &counts : nullptr,
          .constraint = constraint_.get(),
          .generated = generated(),
          .tokens_left = tokens_left()};
}

std::optional<Finish> Sequence::commit(const StepEntry& entry, WalkSeq& walk) {
  if (entry.score_from >= 0) commit_scores(entry, walk);
  stored += static_cast<int>(entry.chain.size() + walk.path.size());
  is_planted = entry.has_tree;
  if (!entry.has_tree) {
    if (samples() || pending_rows() > 0) return std::nullopt;
    return Finish{.reason = FinishReason::kLength, .stop_token = kNoToken, .message = {}};
  }

  std::optional<Finish> finish;
  const int before = generated();
  for (std::size_t i = 0; i < walk.emitted.size() && !finish; ++i) {
    const bool is_last = i + 1 == walk.emitted.size();
    if (is_last && walk.is_stuck) {
      finish = Finish{
          .reason = FinishReason::kStuck, .stop_token = kNoToken, .message = constraint_->fault()};
    } else {
      finish = commit_token(std::move(walk.emitted[i]));
      if (is_last && walk.is_complete)
        finish = Finish{.reason = FinishReason::kStop, .stop_token = kNoToken, .message = {}};
    }
  }
  stored = std::min(stored, size());

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

std::optional<Finish> Sequence::commit_token(SampledToken&& sampled) {
  const Token token = sampled.token;
  tokens.push_back(token);
  if (request.sampling.has_penalties()) counts.add_output(token);
  delta_.tokens.push_back(std::move(sampled));
  const auto& stops = request.sampling.stop_tokens;
  if (std::find(stops.begin(), stops.end(), token) != stops.end())
    return Finish{.reason = FinishReason::kStop, .stop_token = token, .message = {}};
  if (tokens_left() == 0)
    return Finish{.reason = FinishReason::kLength, .stop_token = kNoToken, .message = {}};
  return std::nullopt;
}

bool Sequence::admitted(int cached) {
  if (request.sampling.has_penalties()) {
    const auto prompt = at(prompt_tokens());
    for (const Token token : std::span(tokens).first(prompt)) counts.add_prompt(token);
    for (const Token token : std::span(tokens).subspan(prompt)) counts.add_output(token);
  }
  if (std::exchange(was_admitted_, true)) return false;
  delta_.cached_tokens = cached;
  return true;
}

void Sequence::offered(int drafts) { delta_.proposed_drafts += drafts; }

void Sequence::drafted(const DraftReport& report) { delta_.drafts.add(report); }

void Sequence::preempted() {
  ++delta_.retractions;
  is_planted = false;
  stored = 0;
  counts = TokenCounts();
}

TokenDelta Sequence::take_delta() {
  TokenDelta out = std::move(delta_);
  delta_ = {};
  delta_.cached_tokens = out.cached_tokens;
  delta_.retractions = out.retractions;
  delta_.verify_steps = out.verify_steps;
  delta_.accepted_drafts = out.accepted_drafts;
  delta_.proposed_drafts = out.proposed_drafts;
  delta_.drafts = out.drafts;
  return out;
}

TokenDelta Sequence::take_last_delta(Finish finish) {
  TokenDelta out = take_delta();
  out.accept_histogram = std::move(accept_histogram_);
  out.finish = std::move(finish);
  return out;
}

}  // namespace foretoken
