#include "tune/cost_curve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include <boost/json.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::size_t kMostPoints = 4096;

// The mean of what is neither among the fastest tenth nor the slowest.
double usual(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t cut = values.size() / 10;
  double sum = 0;
  for (std::size_t i = cut; i < values.size() - cut; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * cut);
}

// Small numbers of rows each by itself, larger ones in quarters of octaves.
int cell_of(int rows) {
  constexpr int kEach = 16;
  if (rows <= kEach) return rows;
  const int octave = static_cast<int>(std::bit_width(static_cast<unsigned>(rows))) - 1;
  return kEach + (octave - 4) * 4 + ((rows >> (octave - 2)) & 3) + 1;
}

}  // namespace

void CostCurve::fit() {
  struct Cell {
    double rows = 0;
    std::vector<double> seconds;
  };
  std::map<int, Cell> cells;
  for (const auto& [rows, seconds] : samples_) {
    Cell& cell = cells[cell_of(rows)];
    for (const double each : seconds) {
      cell.rows += rows;
      cell.seconds.push_back(each);
    }
  }
  std::vector<Point> points;
  for (const auto& [number, cell] : cells)
    points.push_back({.rows = cell.rows / static_cast<double>(cell.seconds.size()),
                      .seconds = usual(cell.seconds),
                      .samples = static_cast<int>(cell.seconds.size())});
  set(std::move(points));
}

void CostCurve::set(std::vector<Point> points) {
  points_ = std::move(points);
  line_ = {};
  for (const Point& point : points_)
    for (int i = 0; i < std::min(point.samples, 32); ++i)
      line_.add(static_cast<int>(std::lround(point.rows)), point.seconds);
  smooth();
  make_monotone();
}

// Kernels have steps that no line has, and clocks have noise: a point with many samples is
// believed, one with few is taken for what its neighbours, joined by a line, say of it.
void CostCurve::smooth() {
  constexpr double kReach = 0.7;   // octaves
  constexpr double kTrusted = 16;  // samples that count as much as the neighbours
  smooth_ = points_;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t j = 0; j < points_.size(); ++j) {
      if (j == i) continue;
      const Point& point = points_[j];
      const double octaves = std::log2((point.rows + 0.1) / (points_[i].rows + 0.1)) / kReach;
      const double weight =
          point.samples * std::exp(-octaves * octaves) / (point.seconds * point.seconds);
      w += weight;
      x += weight * point.rows;
      y += weight * point.seconds;
      xx += weight * point.rows * point.rows;
      xy += weight * point.rows * point.seconds;
    }
    const double spread = w * xx - x * x;
    if (spread <= 1e-9 * w * xx) continue;
    const double slope = (w * xy - x * y) / spread;
    const double expected = (y - slope * x) / w + slope * points_[i].rows;
    const double samples = points_[i].samples;
    if (expected > 0)
      smooth_[i].seconds =
          (samples * points_[i].seconds + kTrusted * expected) / (samples + kTrusted);
  }
}

// More rows never take less time; where they seem to, both are taken for what they are on average.
void CostCurve::make_monotone() {
  struct Pool {
    double seconds;
    double samples;
    std::size_t size;
  };
  std::vector<Pool> pools;
  for (const Point& point : smooth_) {
    pools.push_back({point.seconds, static_cast<double>(point.samples), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].seconds > pools.back().seconds) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& before = pools.back();
      const double samples = before.samples + last.samples;
      before = {(before.seconds * before.samples + last.seconds * last.samples) / samples, samples,
                before.size + last.size};
    }
  }
  std::size_t next = 0;
  for (const Pool& pool : pools)
    for (std::size_t i = 0; i < pool.size; ++i) smooth_[next++].seconds = pool.seconds;
}

double CostCurve::of(int rows) const {
  if (smooth_.empty()) return 0;
  const auto line = [&](double n) { return line_.fixed() + line_.per_row() * n; };
  const auto above = std::ranges::find_if(
      smooth_, [&](const Point& point) { return point.rows >= static_cast<double>(rows); });
  // Beyond what was measured the line goes on from the last point.
  if (above == smooth_.end())
    return smooth_.back().seconds + line(rows) - line(smooth_.back().rows);
  if (above == smooth_.begin())
    return std::max(above->seconds * 0.5, above->seconds + line(rows) - line(above->rows));
  const Point& below = *(above - 1);
  const double share = (rows - below.rows) / (above->rows - below.rows);
  return below.seconds + share * (above->seconds - below.seconds);
}

boost::json::value CostCurve::to_json() const {
  boost::json::array points;
  for (const Point& point : points_)
    points.push_back(
        {{"rows", point.rows}, {"seconds", point.seconds}, {"samples", point.samples}});
  return {{"fixed_seconds", fixed()}, {"seconds_per_row", per_row()}, {"points", points}};
}

CostCurve CostCurve::from_json(const boost::json::value& json, const std::string& where) {
  const auto refuse = [&](const std::string& found) {
    throw Error({.what = "costs that cannot be read",
                 .where = where,
                 .expected = "points with ascending rows, seconds above 0 and samples",
                 .found = found});
  };
  const auto* object = json.if_object();
  const auto* list = object == nullptr ? nullptr : object->if_contains("points");
  if (list == nullptr || !list->is_array()) refuse("none");
  if (list->get_array().size() > kMostPoints) refuse("too many points");
  std::vector<Point> points;
  for (const auto& each : list->get_array()) {
    if (!each.is_object()) refuse("a point that is no object");
    const FileFields fields(each.get_object(), where);
    const Point point{
        .rows = fields.required_number("rows"),
        .seconds = fields.required_number("seconds"),
        .samples = static_cast<int>(fields.integer("samples", {1, 1 << 30}).value_or(1))};
    const double before = points.empty() ? -1 : points.back().rows;
    if (!(point.rows > before && point.rows <= 1e9 && point.seconds > 0 && point.seconds < 1e6))
      refuse("rows " + std::to_string(point.rows) + ", seconds " + std::to_string(point.seconds));
    points.push_back(point);
  }
  CostCurve curve;
  curve.set(std::move(points));
  return curve;
}

}  // namespace foretoken
