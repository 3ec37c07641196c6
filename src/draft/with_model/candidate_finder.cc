#include "draft/with_model/candidate_finder.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "batch/logit_slices.h"
#include "batch/logits.h"

namespace foretoken {
namespace {

// So many coupled candidates tell how sure the first is.
constexpr int kLeastDrawn = 4;
constexpr std::size_t kJudged = DrawnTokens::kJudged;
static_assert(kJudged <= CouplingOdds::kJudged);

}  // namespace

CandidateFinder::CandidateFinder(Ops& ops, DraftModel& model, int width, Coupling coupling,
                                 std::size_t logit_slice_bytes)
    : ops_(ops),
      model_(model),
      width_(at(width)),
      drawn_width_(at(std::max(width, kLeastDrawn))),
      couples_(coupling != Coupling::kNever),
      slice_rows_(logit_slice_rows(model.logit_width(), logit_slice_bytes)),
      odds_(coupling) {}

void CandidateFinder::open(SeqSlot slot) {
  if (slots_.size() <= at(slot)) slots_.resize(at(slot) + 1);
  slots_[at(slot)].params = nullptr;
  slots_[at(slot)].rows = {};
  odds_.open(slot);
}

void CandidateFinder::observe(const CommittedRows& rows) {
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const StepEntry& entry = rows.plan.entries[i];
    const WalkSeq& found = rows.walk.seqs[i];
    if (!entry.has_tree) continue;
    odds_.add_outcome(entry.slot, found.emitted.front().token);
    Slot& slot = slots_[at(entry.slot)];
    slot.params = entry.params;
    slot.counts = entry.counts;
    slot.position = rows.table.length[at(entry.slot)] + 1;
    slot.generated = entry.generated + static_cast<int>(found.emitted.size());
    slot.recent.clear();
    if (!entry.params->has_penalties()) continue;
    for (const SampledToken& sampled : found.emitted) slot.recent.push_back(sampled.token);
  }
}

void CandidateFinder::clear() {
  rows_ = 0;
  draws_.clear();
  coupled_rows_ = 0;
  ancestors_.clear();
}

void CandidateFinder::add_row(SeqSlot slot, std::span<const Token> path) {
  const int row = rows_++;
  Slot& s = slots_[at(slot)];
  const bool may_couple = couples_ && !is_greedy(*s.params);
  const bool is_coupled = may_couple && odds_.follows_noise(slot);
  const bool is_judged = may_couple && path.empty() && odds_.wants_outcome(slot);
  ++(is_coupled ? s.rows.coupled : s.rows.greedy);
  if (!is_coupled && !is_judged) return;
  coupled_rows_ += is_coupled ? 1 : 0;
  const std::size_t first = ancestors_.size();
  if (s.params->has_penalties()) {
    ancestors_.insert(ancestors_.end(), s.recent.begin(), s.recent.end());
    ancestors_.insert(ancestors_.end(), path.begin(), path.end());
  }
  const int depth = static_cast<int>(path.size());
  draws_.push_back({.row = {.row = row,
                            .noise_share = is_coupled ? odds_.noise_share(slot) : 0.0F,
                            .is_judged = is_judged,
                            .context = {.params = s.params,
                                        .counts = s.counts,
                                        .ancestors = {},
                                        .position = s.position + depth,
                                        .generated = s.generated + depth}},
                    .slot = slot,
                    .is_coupled = is_coupled,
                    .first_ancestor = first,
                    .end_ancestor = ancestors_.size()});
}

void CandidateFinder::find(Tensor hidden) {
  token_.resize(at(rows_) * width_);
  chance_.resize(at(rows_) * width_);
  next_draw_ = 0;
  for (std::int64_t first = 0; first < rows_; first += slice_rows_) {
    const ScratchScope logits_only(ops_);
    const Tensor logits =
        model_.logits(hidden.rows(first, std::min<std::int64_t>(slice_rows_, rows_ - first)));
    find_most_probable(logits, at(first));
    draw(logits, at(first));
  }
}

// Of chains, too, it must be known how probable the tokens are, for that may decide on their
// length; of one token alone top_tokens does not say it.
void CandidateFinder::find_most_probable(Tensor logits, std::size_t first) {
  const std::size_t rows = at(logits.dim(0)), width = std::max<std::size_t>(width_, 2);
  if (coupled_rows_ == rows_) return;
  const std::span<const Token> target_tokens = model_.target_tokens();
  ops_.top_tokens(logits, static_cast<int>(width), top_);
  ops_.read_back();
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < width_; ++i) {
      const Token token = top_.token[row * width + i];
      token_[(first + row) * width_ + i] =
          token < 0 || target_tokens.empty() ? token : target_tokens[at(token)];
      chance_[(first + row) * width_ + i] = top_.probability[row * width + i];
    }
}

void CandidateFinder::draw(Tensor logits, std::size_t first) {
  slice_.clear();
  const std::size_t first_draw = next_draw_, end = first + at(logits.dim(0));
  for (; next_draw_ < draws_.size() && at(draws_[next_draw_].row.row) < end; ++next_draw_) {
    const Draw& draw = draws_[next_draw_];
    DrawRow& row = slice_.emplace_back(draw.row);
    row.row -= static_cast<std::int32_t>(first);
    row.context.ancestors =
        std::span(ancestors_).subspan(draw.first_ancestor, draw.end_ancestor - draw.first_ancestor);
  }
  if (slice_.empty()) return;
  const std::span<const Token> target_tokens = model_.target_tokens();
  const std::int64_t vocab = target_tokens.empty() ? logits.dim(1) : model_.vocab();
  ops_.draw_tokens(logits, target_tokens, vocab, slice_, static_cast<int>(drawn_width_), drawn_);
  ops_.read_back();
  for (std::size_t i = 0; i < slice_.size(); ++i) take_drawn(draws_[first_draw + i], i);
}

void CandidateFinder::take_drawn(const Draw& draw, std::size_t number) {
  const auto found = std::span(drawn_.found).subspan(number * drawn_width_, drawn_width_);
  const float temperature = draw.row.context.params->temperature;
  if (draw.row.is_judged)
    odds_.expect(draw.slot, temperature, found,
                 std::span(drawn_.judged).subspan(number * kJudged, kJudged));
  if (!draw.is_coupled) return;
  for (std::size_t i = 0; i < width_; ++i) token_[at(draw.row.row) * width_ + i] = found[i].token;
  odds_.to_chances(draw.slot, temperature, found,
                   std::span(chance_).subspan(at(draw.row.row) * width_, width_));
}

}  // namespace foretoken
