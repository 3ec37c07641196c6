#pragma once
// CostCurve: seconds that work takes by its rows, as they were measured: for each number of rows
// the mean of the samples without the extreme ones, smoothed where they are few, between them
// straight lines, beyond them the line that fits best (draft/pace/linear_cost.h). Not a clock.

#include <map>
#include <vector>

#include <boost/json/value.hpp>

#include "draft/pace/linear_cost.h"

namespace foretoken {

class CostCurve {
 public:
  struct Point {
    double rows = 0, seconds = 0;
    int samples = 0;
  };

  void add(int rows, double seconds) { samples_[rows].push_back(seconds); }
  // To be called once all samples are in.
  void fit();

  bool empty() const { return points_.empty(); }
  double of(int rows) const;  // 0 where nothing was measured
  const std::vector<Point>& points() const { return points_; }
  double fixed() const { return line_.fixed(); }
  double per_row() const { return line_.per_row(); }

  boost::json::value to_json() const;
  // Throws Error naming `where`.
  static CostCurve from_json(const boost::json::value& json, const std::string& where);

 private:
  void set(std::vector<Point> points);
  void smooth();
  void make_monotone();

  std::map<int, std::vector<double>> samples_;
  std::vector<Point> points_;  // by rows, as measured
  std::vector<Point> smooth_;  // the same as they are taken for
  LinearCost line_;
};

}  // namespace foretoken
