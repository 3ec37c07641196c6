#pragma once
// OrderedRows: what a WeightSource is, too, that gives rows of some matrices in another order than
// the checkpoint's. It reorders floats itself; of codes, whose rows lie in many ways, it says the
// order, and who takes them apart follows it. Loading threads only.

#include <cstdint>
#include <string>
#include <vector>

namespace foretoken {

class OrderedRows {
 public:
  virtual ~OrderedRows() = default;
  // For each row of the matrix, the number of the checkpoint's row. Empty: the order is the
  // checkpoint's. matrix: its name without ".weight". rows: how many it has.
  virtual std::vector<std::int64_t> stored_rows(const std::string& matrix,
                                                std::int64_t rows) const = 0;
};

}  // namespace foretoken
