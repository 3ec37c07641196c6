#pragma once
// ForwardTimes: what the draft model takes: lines by work and rows, and the sums of the trees that
// are being verified. Where it works for a few sequences only, it also says what it would have
// taken for all. Not a clock: it is told the time. Engine thread only.

#include <array>
#include <cstddef>

#include "draft/draft_pace.h"
#include "draft/pace/linear_cost.h"

namespace foretoken {

class ForwardTimes {
 public:
  struct Seconds {
    double reading = 0, growing = 0;
    double sum() const { return reading + growing; }
  };

  void start_step() {
    took_ = of_all_ = {};
    rows_read_ = 0;
    was_asked_ = false;
  }
  void begin(DraftWork work, double now) {
    work_ = work;
    begin_ = now;
  }
  // times: sequences for each that it worked for.
  void end(int rows, double times, double now) {
    const double seconds = now - begin_;
    LinearCost& cost = cost_[static_cast<std::size_t>(work_)];
    cost.add(rows, seconds);
    const auto all_rows = static_cast<int>(rows * times);
    const double of_all = times > 1 ? seconds * cost.of(all_rows) / cost.of(rows) : seconds;
    const bool is_reading = work_ == DraftWork::kReading;
    (is_reading ? took_.reading : took_.growing) += seconds;
    (is_reading ? of_all_.reading : of_all_.growing) += of_all;
    if (!is_reading) was_asked_ = true;
    if (is_reading) rows_read_ += rows;
  }

  double of_level(int rows) const {
    return cost_[static_cast<std::size_t>(DraftWork::kLevel)].of(rows);
  }
  const Seconds& took() const { return took_; }
  const Seconds& of_all() const { return of_all_; }
  // Seconds of reading, for the rows behind the first `rows`. Most of these are of a prompt.
  double reading_beyond(int rows) const {
    return rows_read_ > rows ? took_.reading * (1 - static_cast<double>(rows) / rows_read_) : 0;
  }
  // Whether it was asked for drafts; not whether it found any.
  bool was_asked() const { return was_asked_; }

 private:
  std::array<LinearCost, 3> cost_;  // by work
  DraftWork work_ = DraftWork::kReading;
  double begin_ = 0;
  Seconds took_, of_all_;
  int rows_read_ = 0;
  bool was_asked_ = false;
};

}  // namespace foretoken
