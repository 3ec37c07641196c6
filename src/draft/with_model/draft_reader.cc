#include "draft/with_model/draft_reader.h"

#include <algorithm>

#include "base/index.h"
#include "batch/batch_tail.h"

namespace foretoken {
namespace {

// The row of the batch that was committed to a slot of the sequence.
std::int32_t row_at(const BatchSeq& seq, const WalkSeq& found, std::int32_t slot) {
  const std::int32_t n = slot - seq.base;
  return seq.first_row + (n < seq.chain ? n : seq.chain + found.path[at(n - seq.chain)]);
}

std::int32_t committed_length(const CommittedRows& rows, std::size_t i) {
  const BatchSeq& seq = rows.batch.seqs[i];
  return seq.base + seq.chain + static_cast<std::int32_t>(rows.walk.seqs[i].path.size());
}

}  // namespace

void add_draft_row(Batch& batch, Token token, std::int32_t position, std::int32_t slot,
                   std::uint64_t mask) {
  BatchSeq& seq = batch.seqs.back();
  const PageId page = batch.pages[at(seq.first_page + slot / kPageTokens)];
  batch.token.push_back(token);
  batch.position.push_back(position);
  batch.seq.push_back(static_cast<std::int32_t>(batch.seqs.size()) - 1);
  batch.kv_slot.push_back(page * kPageTokens + slot % kPageTokens);
  batch.mask.push_back(mask);
  ++seq.rows;
  ++batch.rows;
}

DraftReader::DraftReader(Ops& ops, DraftModel& model, int num_pages, int num_slots,
                         int scratch_slots)
    : ops_(ops),
      model_(model),
      vocab_(static_cast<Token>(model.vocab())),
      shift_(model.feature_width() > 0 ? 1 : 0),
      carried_width_(model.carried_width()),
      scratch_slots_(scratch_slots),
      slots_(at(num_slots)),
      is_read_(at(num_pages), 0) {
  if (!reads_features()) return;
  page_feature_ = ops.alloc(DType::kF32, {num_pages, model.feature_width()});
  if (carried_width_ > 0) {
    page_carried_ = ops.alloc(DType::kF32, {num_pages, carried_width_});
    root_carried_ = ops.alloc(DType::kF32, {num_slots, carried_width_});
  }
  const Shape kept{std::int64_t{num_slots} * kCatchUpTokens, model.tap_width()};
  const FeatureTaps taps = model.taps();
  if (taps.last_hidden) kept_.last_hidden = ops.alloc(DType::kF32, kept);
  for (std::size_t i = 0; i < taps.layer_inputs.size(); ++i)
    kept_.taps.push_back(ops.alloc(DType::kF32, kept));
}

std::size_t DraftReader::bytes_per_slot(const DraftModel& model) {
  const FeatureTaps taps = model.taps();
  const std::size_t tensors = taps.layer_inputs.size() + (taps.last_hidden ? 1 : 0);
  return (tensors * at(kCatchUpTokens * model.tap_width()) + at(model.carried_width())) *
         sizeof(float);
}

void DraftReader::open(SeqSlot slot) { slots_[at(slot)] = {}; }

void DraftReader::read(const CommittedRows& rows, DraftPace& pace) {
  layout(rows, pace);
  pace.begin_forward(DraftWork::kReading);
  const Tensor features = features_of_batch(rows.features);
  const Tensor carried = carried_to_batch(features);
  if (batch_.rows > 0) {
    found_ = model_.forward(
        batch_,
        {.features = features, .carried = carried, .reads_logit_rows = carried_width_ == 0});
    pace.end_forward(batch_.rows);
  }
  keep_carried();
  keep(rows.features);
}

void DraftReader::layout(const CommittedRows& rows, const DraftPace& pace) {
  batch_.clear();
  from_target_.clear();
  from_kept_.clear();
  from_pages_.clear();
  to_kept_.clear();
  for (RowCopies* copies : {&carried_from_pages_, &carried_from_roots_, &carried_to_pages_,
                            &carried_to_roots_, &roots_to_pages_})
    copies->clear();
  for (Slot& slot : slots_) slot.seq = -1;
  const FeatureTaps taps = model_.taps();
  const bool has_ends = !taps.last_hidden || rows.features.last_hidden.dim(0) == rows.batch.rows;
  const bool is_tapped = has_ends && rows.features.taps.size() == taps.layer_inputs.size();
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const BatchSeq& seq = rows.batch.seqs[i];
    const bool sleeps = !is_tapped || pace.sleeps(seq.slot);
    const bool rests = pace.rests(seq.slot);
    const Reading reading = choose_reading(rows, i, rests);
    if (sleeps || (rests && seq.chain == 0) || reading.first > reading.length)
      pass_by(rows, i, !sleeps);
    else
      add_sequence(rows, i, reading);
  }
}

// Of what went by, tokens are known; features, where the target's are there and shall be kept.
void DraftReader::pass_by(const CommittedRows& rows, std::size_t i, bool is_kept) {
  const BatchSeq& seq = rows.batch.seqs[i];
  const std::int32_t length = committed_length(rows, i);
  Slot& s = slots_[at(seq.slot)];
  s.root = -1;
  if (s.missed < 0) s.missed = s.kept = seq.base;
  if (!is_kept && reads_features()) s.kept = length;
  mark(rows.table.pages[at(seq.slot)], seq.base, length, false);
  for (std::int32_t slot = std::max(seq.base, length - kCatchUpTokens); slot < length; ++slot) {
    const std::int32_t row = row_at(seq, rows.walk.seqs[i], slot);
    s.token[at(slot % kCatchUpTokens)] = rows.batch.token[at(row)];
    if (is_kept && reads_features())
      to_kept_.add(row, seq.slot * kCatchUpTokens + slot % kCatchUpTokens);
  }
}

// Prompts are read also for sequences that rest: that costs little beside the target's reading,
// and a draft model that knows the prompt can wake at any time.
DraftReader::Reading DraftReader::choose_reading(const CommittedRows& rows, std::size_t i,
                                                 bool rests) const {
  const BatchSeq& seq = rows.batch.seqs[i];
  const std::vector<PageId>& pages = rows.table.pages[at(seq.slot)];
  const std::int32_t length = committed_length(rows, i);
  const Slot& s = slots_[at(seq.slot)];
  return {
      .first = s.missed < 0 ? seq.base : first_after_rest(s, seq.base),
      .length = length,
      .has_root = !rests && !rows.walk.seqs[i].emitted.empty() &&
                  static_cast<std::int32_t>(pages.size()) >= pages_for(length + scratch_slots_)};
}

// All that was missed if it is little and known, else the last whole pages that are, each row with
// the feature in front of it.
std::int32_t DraftReader::first_after_rest(const Slot& slot, std::int32_t base) const {
  if (base - slot.missed < kCatchUpTokens && slot.kept == slot.missed) return slot.missed;
  return round_up(std::max(base - kCatchUpTokens, slot.kept) + 1, kPageTokens);
}

void DraftReader::mark(std::span<const PageId> pages, std::int32_t from, std::int32_t to,
                       bool is_read) {
  for (std::int32_t page = from / kPageTokens; page < pages_for(to); ++page)
    is_read_[at(pages[at(page)])] = is_read ? 1 : 0;
}

// The KV slots of pages left out before `first`; so many less is an index into the pages listed.
std::int32_t DraftReader::list_pages(std::span<const PageId> pages, std::int32_t first,
                                     std::int32_t end) {
  std::int32_t left_out = 0;
  for (std::int32_t page = 0; page < pages_for(end); ++page) {
    if (page >= first / kPageTokens || model_.reads_target_kv() ||
        is_read_[at(pages[at(page)])] != 0)
      batch_.pages.push_back(pages[at(page)]);
    else
      left_out += kPageTokens;
  }
  return left_out;
}

void DraftReader::add_sequence(const CommittedRows& rows, std::size_t i, const Reading& reading) {
  const BatchSeq& seq = rows.batch.seqs[i];
  const std::vector<PageId>& pages = rows.table.pages[at(seq.slot)];
  const auto [first_slot, length, has_root] = reading;
  Slot& s = slots_[at(seq.slot)];
  // The root of the last step is stored already, and is the first row of this one.
  const bool has_first = s.root == seq.base;
  const std::int32_t first = std::max(first_slot + (has_first ? 1 : 0), shift_);
  if (reads_features()) list_features(rows, i, {first, length, has_root});
  if (carried_width_ > 0) list_carried(rows, i, {first, length, has_root});
  mark(pages, seq.base, std::max(seq.base, first_slot), false);  // it begins with a page then
  mark(pages, first_slot, length, true);
  s.missed = s.kept = -1;
  s.root = has_root ? length : -1;
  const std::int32_t end = length + (has_root ? 1 : 0);
  if (first == end) return;

  const auto first_page = static_cast<std::int32_t>(batch_.pages.size());
  const std::int32_t left_out =
      list_pages(pages, first_slot, has_root ? length + scratch_slots_ : length);
  const bool has_page_0 = left_out == 0 || batch_.pages[at(first_page)] == pages[0];
  batch_.seqs.push_back({.slot = seq.slot,
                         .first_row = batch_.rows,
                         .rows = 0,
                         .base = first - left_out,
                         .chain = end - first,
                         .first_page = first_page,
                         .num_pages = static_cast<std::int32_t>(batch_.pages.size()) - first_page,
                         .is_chain = true,
                         .first_slot = has_page_0 ? shift_ : 0});
  for (std::int32_t slot = first; slot < end; ++slot) {
    const WalkSeq& found = rows.walk.seqs[i];
    const Token token = slot < seq.base ? s.token[at(slot % kCatchUpTokens)]
                        : slot < length ? rows.batch.token[at(row_at(seq, found, slot))]
                                        : found.emitted.back().token;
    add_draft_row(batch_, readable(token), slot - shift_, slot - left_out, 0);
  }
  if (!has_root) return;
  s.seq = static_cast<std::int32_t>(batch_.seqs.size()) - 1;
  batch_.logit_rows.push_back(batch_.rows - 1);
}

// Where the features come from that the sequence's rows read, and where those of its committed
// tokens are kept. Its rows are about to be added to the batch, and its pages marked.
void DraftReader::list_features(const CommittedRows& rows, std::size_t i, const Reading& reading) {
  const BatchSeq& seq = rows.batch.seqs[i];
  const std::vector<PageId>& pages = rows.table.pages[at(seq.slot)];
  const std::int32_t missed = slots_[at(seq.slot)].missed;
  const std::int32_t length = reading.length;
  // Features [kept_from, base) are kept ones, [base, length) the target's.
  const std::int32_t kept_from = missed < 0 ? seq.base : std::max(missed, reading.first - 1);
  const auto first_kept = static_cast<std::int32_t>(from_kept_.source.size());
  const auto first_found = static_cast<std::int32_t>(from_target_.source.size());
  const auto add = [&](FeatureRows& from, std::int32_t row, std::int32_t slot) {
    if (slot % kPageTokens == kPageTokens - 1 || slot == length - 1)
      from.to_pages.add(static_cast<std::int32_t>(from.source.size()),
                        pages[at(slot / kPageTokens)]);
    from.source.push_back(row);
  };
  for (std::int32_t slot = kept_from; slot < seq.base; ++slot)
    add(from_kept_, seq.slot * kCatchUpTokens + slot % kCatchUpTokens, slot);
  for (std::int32_t slot = seq.base; slot < length; ++slot)
    add(from_target_, row_at(seq, rows.walk.seqs[i], slot), slot);

  const std::int32_t end = length + (reading.has_root ? 1 : 0);
  for (std::int32_t slot = reading.first; slot < end; ++slot) {
    const std::int32_t row = batch_.rows + slot - reading.first, before = slot - 1;
    const PageId page = pages[at(before / kPageTokens)];
    if (before >= seq.base)
      from_target_.to_batch.add(first_found + before - seq.base, row);
    else if (before >= kept_from)
      from_kept_.to_batch.add(first_kept + before - kept_from, row);
    else if (slot == missed || is_read_[at(page)] != 0)
      from_pages_.add(page, row);
    else  // It went by unread, in another sequence. The one after it stands in.
      from_target_.to_batch.add(first_found, row);
  }
}

// The same of what the model carries from row to row. Slot 0 has no row, so nothing comes from it.
void DraftReader::list_carried(const CommittedRows& rows, std::size_t i, const Reading& reading) {
  const BatchSeq& seq = rows.batch.seqs[i];
  const std::vector<PageId>& pages = rows.table.pages[at(seq.slot)];
  const Slot& s = slots_[at(seq.slot)];
  const auto [first, length, has_root] = reading;
  const bool has_first = s.root == seq.base;
  const std::int32_t before = first - 1, end = length + (has_root ? 1 : 0);
  if (first < end) {
    const auto sequence = static_cast<std::int32_t>(batch_.seqs.size());
    const PageId page = pages[at(before / kPageTokens)];
    if (has_first)
      carried_from_roots_.add(seq.slot, sequence);
    else if (before > 0 && (first == s.missed || (s.missed < 0 && is_read_[at(page)] != 0)))
      carried_from_pages_.add(page, sequence);
  }
  const auto is_kept = [length = length](std::int32_t slot) {
    return slot % kPageTokens == kPageTokens - 1 || slot == length - 1;
  };
  if (has_first && is_kept(seq.base))
    roots_to_pages_.add(seq.slot, pages[at(seq.base / kPageTokens)]);
  for (std::int32_t slot = first; slot < length; ++slot)
    if (is_kept(slot))
      carried_to_pages_.add(batch_.rows + slot - first, pages[at(slot / kPageTokens)]);
  if (has_root) carried_to_roots_.add(batch_.rows + length - first, seq.slot);
}

std::int32_t DraftReader::place_of_root(std::int32_t sequence) const {
  const BatchSeq& seq = batch_.seqs[at(sequence)];
  return place_of(seq.first_row + seq.rows - 1, found_.rows);
}

// [batch rows, feature width]
Tensor DraftReader::features_of_batch(const Features& target) {
  if (!reads_features()) return {};
  const Tensor out = ops_.temp(DType::kF32, {batch_.rows, std::int64_t{model_.feature_width()}});
  ops_.copy_rows(page_feature_, from_pages_.from, out, from_pages_.to);
  deliver(target, from_target_, out);
  deliver(kept_, from_kept_, out);
  return out;
}

// [sequences, carried width]; in its parts the target's feature stands in for what is not known.
Tensor DraftReader::carried_to_batch(Tensor features) {
  if (carried_width_ == 0) return {};
  first_rows_.clear();
  for (const BatchSeq& seq : batch_.seqs) first_rows_.push_back(seq.first_row);
  const Tensor out = ops_.temp(
      DType::kF32, {static_cast<std::int64_t>(batch_.seqs.size()), std::int64_t{carried_width_}});
  for (int part = 0; part < carried_width_; part += model_.feature_width())
    ops_.gather_columns(features, first_rows_, out, part);
  ops_.copy_rows(page_carried_, carried_from_pages_.from, out, carried_from_pages_.to);
  ops_.copy_rows(root_carried_, carried_from_roots_.from, out, carried_from_roots_.to);
  return out;
}

// The roots of the last step are committed; then come those of this one.
void DraftReader::keep_carried() {
  if (carried_width_ == 0) return;
  ops_.copy_rows(root_carried_, roots_to_pages_.from, page_carried_, roots_to_pages_.to);
  if (batch_.rows == 0) return;
  ops_.copy_rows(found_.feature, carried_to_pages_.from, page_carried_, carried_to_pages_.to);
  ops_.copy_rows(found_.feature, carried_to_roots_.from, root_carried_, carried_to_roots_.to);
}

void DraftReader::deliver(const Features& source, const FeatureRows& rows, Tensor out) {
  if (rows.source.empty()) return;
  const Tensor found = model_.features(source, rows.source);
  ops_.copy_rows(found, rows.to_batch.from, out, rows.to_batch.to);
  ops_.copy_rows(found, rows.to_pages.from, page_feature_, rows.to_pages.to);
}

void DraftReader::keep(const Features& target) {
  if (to_kept_.from.empty()) return;
  if (!kept_.last_hidden.empty())
    ops_.copy_rows(target.last_hidden, to_kept_.from, kept_.last_hidden, to_kept_.to);
  for (std::size_t i = 0; i < kept_.taps.size(); ++i)
    ops_.copy_rows(target.taps[i], to_kept_.from, kept_.taps[i], to_kept_.to);
}

}  // namespace foretoken
