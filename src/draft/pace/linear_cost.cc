#include "draft/pace/linear_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace foretoken {
namespace {

constexpr int kMostSamples = 32;  // samples in a mean
constexpr double kOutlier = 1.3;  // a sample counts as at most so many times the mean
// What is taken as fixed while all samples are of one size, in rows. Large batches begin careful.
constexpr double kUsualFixed = 16;
constexpr double kUsualNoise = 0.15;    // of a sample, as a share of it
constexpr double kBoundDeviations = 2;  // standard deviations

// 0 to 16 rows each by itself, larger numbers in quarters of octaves.
std::size_t cell_of(int rows) {
  const auto n = static_cast<unsigned>(std::max(rows, 0));
  if (n <= 16) return n;
  const auto octave = static_cast<unsigned>(std::bit_width(n)) - 1;
  return 16 + (octave - 4) * 4 + ((n >> (octave - 2)) & 3U) + 1;
}

}  // namespace

void LinearCost::add(int rows, double seconds) {
  const std::size_t at = cell_of(rows);
  if (cells_.size() <= at) cells_.resize(at + 1);
  Cell& cell = cells_[at];
  // A mean that is so far above a sample began with a slow moment, as everything does at first.
  if (seconds * kOutlier < cell.seconds) cell.samples = 0;
  cell.samples = std::min(cell.samples + 1, kMostSamples);
  cell.rows += (rows - cell.rows) / cell.samples;
  const double counted = cell.samples == 1 ? seconds : std::min(seconds, kOutlier * cell.seconds);
  cell.seconds += (counted - cell.seconds) / cell.samples;
  fit();
}

double LinearCost::of(int rows) const {
  const std::size_t at = cell_of(rows);
  if (at >= cells_.size() || cells_[at].samples == 0) return line(rows);
  return cells_[at].seconds * line(rows) / line(cells_[at].rows);
}

double LinearCost::least_per_row() const {
  return std::max(0.0, per_row_ - kBoundDeviations * per_row_error_);
}

// Least squares in relative errors. Of one cell alone nothing can be said but by prejudice.
void LinearCost::fit() {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Cell& cell : cells_) {
    if (cell.seconds == 0) continue;
    const double weight = cell.samples / (cell.seconds * cell.seconds);
    w += weight;
    x += weight * cell.rows;
    y += weight * cell.seconds;
    xx += weight * cell.rows * cell.rows;
    xy += weight * cell.rows * cell.seconds;
  }
  const double spread = w * xx - x * x;
  const bool is_line = spread > 1e-6 * w * xx;
  per_row_ = is_line ? std::max(0.0, (w * xy - x * y) / spread) : y / (x + kUsualFixed * w);
  per_row_error_ = is_line ? kUsualNoise * std::sqrt(w / spread) : per_row_;
  fixed_ = std::max(0.0, (y - per_row_ * x) / w);
}

}  // namespace foretoken
