#pragma once
// The tail of a batch: the rows whose results somebody reads, and those behind them in their
// sequences. What stands before them need only leave its keys and values: in the last layer of a
// model, prompt tokens end there. To the tail they are what an earlier step stored. Pure functions.

#include <cstdint>
#include <span>
#include <vector>

#include "batch/batch.h"

namespace foretoken {

// How many rows the tail has.
int tail_rows(const Batch& batch);

// Whether so many rows end before it that leaving them out is worth the copies of the others.
bool ends_early(const Batch& batch);

struct BatchTail {
  Batch batch;                     // with the page lists of the whole; sequences may be missing
  std::vector<std::int32_t> rows;  // where its rows are in the whole, ascending
};
BatchTail tail_of(const Batch& batch);

// Where a row's result is when those of `rows` are listed, ascending, the row among them; empty:
// all are.
std::int32_t place_of(std::int32_t row, std::span<const std::int32_t> rows);

}  // namespace foretoken
