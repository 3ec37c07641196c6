#pragma once
// LinearCost: what work costs that takes some seconds whatever its size and some more for each row:
// a line through what was seen. Shared machines have slow moments, so a sample far above the mean
// of its like counts as little above it. Not a clock: it is told seconds.

#include <vector>

namespace foretoken {

class LinearCost {
 public:
  void add(int rows, double seconds);

  double per_row() const { return per_row_; }  // 0 while unknown
  // What it hardly is below: 0 where all samples are of about one size.
  double least_per_row() const;
  double fixed() const { return fixed_; }  // of no rows; 0 while unknown
  // Of so many rows: what such work took, or what the line says. 0 while nothing is known.
  double of(int rows) const;

 private:
  struct Cell {  // of about so many rows
    double rows = 0, seconds = 0;
    int samples = 0;  // up to the memory of the mean
  };
  void fit();
  double line(double rows) const { return fixed_ + per_row_ * rows; }

  std::vector<Cell> cells_;
  double per_row_ = 0, fixed_ = 0;
  double per_row_error_ = 0;  // one standard deviation
};

}  // namespace foretoken
