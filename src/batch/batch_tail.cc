#include "batch/batch_tail.h"

#include <algorithm>

#include "base/index.h"

namespace foretoken {
namespace {

// Rows of a sequence before its tail: of the chain, because trees are read as a whole.
std::int32_t rows_before(const Batch& batch, const BatchSeq& seq) {
  const auto wanted = std::ranges::lower_bound(batch.logit_rows, seq.first_row);
  if (wanted == batch.logit_rows.end() || *wanted >= seq.first_row + seq.rows) return seq.rows;
  return std::min(*wanted - seq.first_row, seq.chain);
}

template <class T>
void append(const std::vector<T>& from, std::int32_t first, std::int32_t count,
            std::vector<T>& to) {
  const auto begin = from.begin() + first;
  to.insert(to.end(), begin, begin + count);
}

constexpr int kFewestSpared = 8;

}  // namespace

int tail_rows(const Batch& batch) {
  int rows = 0;
  for (const BatchSeq& seq : batch.seqs) rows += seq.rows - rows_before(batch, seq);
  return rows;
}

bool ends_early(const Batch& batch) {
  const int tail = tail_rows(batch);
  return 2 * tail <= batch.rows && batch.rows - tail >= kFewestSpared;
}

BatchTail tail_of(const Batch& batch) {
  BatchTail tail;
  Batch& t = tail.batch;
  t.pages = batch.pages;
  for (const BatchSeq& seq : batch.seqs) {
    const std::int32_t before = rows_before(batch, seq), rows = seq.rows - before;
    if (rows == 0) continue;
    const std::int32_t first = seq.first_row + before;
    BatchSeq rest = seq;
    rest.first_row = t.rows;
    rest.rows = rows;
    rest.base += before;
    rest.chain -= before;
    append(batch.token, first, rows, t.token);
    append(batch.position, first, rows, t.position);
    append(batch.kv_slot, first, rows, t.kv_slot);
    append(batch.mask, first, rows, t.mask);
    t.seq.insert(t.seq.end(), at(rows), static_cast<std::int32_t>(t.seqs.size()));
    for (std::int32_t row = first; row < first + rows; ++row) {
      if (std::ranges::binary_search(batch.logit_rows, row))
        t.logit_rows.push_back(t.rows + row - first);
      tail.rows.push_back(row);
    }
    t.seqs.push_back(rest);
    t.rows += rows;
  }
  return tail;
}

std::int32_t place_of(std::int32_t row, std::span<const std::int32_t> rows) {
  if (rows.empty()) return row;
  return static_cast<std::int32_t>(std::ranges::lower_bound(rows, row) - rows.begin());
}

}  // namespace foretoken
