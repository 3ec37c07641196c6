#include "draft/with_model/level_rows.h"

#include <bit>

#include "base/error.h"

namespace foretoken {

void LevelRows::clear() {
  size_ = 0;
  parents_.clear();
}

void LevelRows::add_root(SeqSlot slot) {
  const std::int32_t number = reader_.sequence_of(slot);
  CHECK(number >= 0) << "slot " << slot << " has no root";
  if (sequences_.size() == size_) sequences_.emplace_back();
  Sequence& sequence = sequences_[size_++];
  const BatchSeq& read = reader_.batch().seqs[at(number)];
  sequence.seq = read;
  sequence.root = reader_.place_of_root(number);
  sequence.position = reader_.batch().position[at(read.first_row + read.rows - 1)];
  sequence.end = read.base + read.rows;
  sequence.rows.clear();
  parents_.push_back(sequence.root);
}

Tensor LevelRows::roots() {
  above_ = reader_.found();
  return gather(above_.hidden);
}

void LevelRows::begin_level(int depth) {
  depth_ = depth;
  reader_.lend_batch().clear_rows();
  parents_.clear();
}

void LevelRows::begin_sequence(std::size_t number, std::uint64_t taken) {
  Sequence& sequence = sequences_[number];
  Batch& level = reader_.lend_batch();
  now_ = number;
  sequence.taken = taken;
  sequence.seq.first_row = level.rows;
  sequence.seq.rows = sequence.seq.chain = 0;
  sequence.seq.base = sequence.end;
  sequence.seq.is_chain = false;
  level.seqs.push_back(sequence.seq);
}

void LevelRows::add_row(int number, int parent, Token token) {
  Sequence& sequence = sequences_[now_];
  Batch& level = reader_.lend_batch();
  const int free = std::countr_one(sequence.taken);
  const std::uint64_t place = std::uint64_t{1} << free;
  sequence.taken |= place;
  parents_.push_back(parent == kRoot ? sequence.root : sequence.rows[at(parent)].at);
  if (sequence.rows.size() <= at(number)) sequence.rows.resize(at(number) + 1);
  const std::uint64_t mask = place | (parent == kRoot ? 0 : sequence.rows[at(parent)].mask);
  sequence.rows[at(number)] = {.place = place, .mask = mask, .at = level.rows};
  add_draft_row(level, reader_.readable(token), sequence.position + depth_, sequence.end + free,
                mask);
}

// What rows read are the features of the rows above them.
Tensor LevelRows::forward() {
  const Tensor features = reader_.reads_features() ? gather(above_.feature) : Tensor{};
  above_ = model_.forward(reader_.lend_batch(), {.features = features, .depth = depth_});
  return above_.hidden;
}

Tensor LevelRows::gather(Tensor found) {
  const Tensor out =
      ops_.temp(DType::kF32, {static_cast<std::int64_t>(parents_.size()), found.dim(1)});
  ops_.gather_rows(found, parents_, out);
  return out;
}

const LevelRows::Row& LevelRows::row_of(std::size_t sequence, int row) const {
  static constexpr Row kNone;
  const auto& rows = sequences_[sequence].rows;
  return row >= 0 && at(row) < rows.size() ? rows[at(row)] : kNone;
}

std::uint64_t LevelRows::place(std::size_t sequence, int row) const {
  return row_of(sequence, row).place;
}

std::uint64_t LevelRows::mask(std::size_t sequence, int row) const {
  return row_of(sequence, row).mask;
}

}  // namespace foretoken
