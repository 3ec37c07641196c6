#include "spec/node_worth.h"

#include <algorithm>
#include <bit>

namespace foretoken {
namespace {

constexpr double kNews = 0.1;     // share of a new sample in a mean
constexpr double kOutlier = 1.3;  // a sample counts as at most so many times the mean
constexpr double kMemory = 0.98;  // of the decaying sums, per sample
constexpr double kPrior = 8.0;    // tokens that scores are taken at their word for, at first
// However bad drafts have been, likely ones are tried, or nothing would ever be learned again.
constexpr double kHighest = 0.5;

void add_to_mean(double& mean, double sample) {
  mean += mean == 0 ? sample : kNews * (std::min(sample, kOutlier * mean) - mean);
}

// 0 to 16 rows each by itself, larger numbers in quarters of octaves.
std::size_t cell_of(int rows) {
  const auto n = static_cast<unsigned>(std::max(rows, 0));
  if (n <= 16) return n;
  const auto octave = static_cast<unsigned>(std::bit_width(n)) - 1;
  return 16 + (octave - 4) * 4 + ((n >> (octave - 2)) & 3U) + 1;
}

}  // namespace

void NodeWorth::add_step(int rows, double seconds) {
  const std::size_t at = cell_of(rows);
  if (cells_.size() <= at) cells_.resize(at + 1);
  cells_[at].rows = rows;
  add_to_mean(cells_[at].seconds, seconds);
  fit();
}

void NodeWorth::add_level(double seconds) { add_to_mean(level_, seconds); }

void NodeWorth::add_round(int tokens, double seconds) {
  const double usual = round_tokens_ > 0 ? seconds_per_token() * tokens : seconds;
  round_tokens_ = round_tokens_ * kMemory + tokens;
  round_seconds_ = round_seconds_ * kMemory + std::min(seconds, 2 * kOutlier * usual);
}

void NodeWorth::add_outcome(double promised, int accepted) {
  if (promised <= 0) return;
  promised_ = promised_ * kMemory + promised;
  accepted_ = accepted_ * kMemory + accepted;
}

// The slope of a line through the cells, of least squares in relative errors.
void NodeWorth::fit() {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Cell& cell : cells_) {
    if (cell.seconds == 0) continue;
    const double weight = 1 / (cell.seconds * cell.seconds);
    w += weight;
    x += weight * cell.rows;
    y += weight * cell.seconds;
    xx += weight * cell.rows * cell.rows;
    xy += weight * cell.rows * cell.seconds;
  }
  const double spread = w * xx - x * x;
  per_row_ = spread > 1e-6 * w * xx ? std::max(0.0, (w * xy - x * y) / spread) : 0;
}

double NodeWorth::trust() const { return (accepted_ + kPrior) / (promised_ + kPrior); }

double NodeWorth::seconds_per_token() const { return round_seconds_ / round_tokens_; }

float NodeWorth::least_score() const {
  if (round_tokens_ == 0) return 0;
  const double worth = trust() * seconds_per_token();
  return static_cast<float>(std::min(kHighest, per_row_ / worth));
}

bool NodeWorth::is_level_worth(double promised) const {
  return round_tokens_ == 0 || promised * trust() * seconds_per_token() > level_;
}

}  // namespace foretoken
