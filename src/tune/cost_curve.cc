#include "tune/cost_curve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <boost/json.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::size_t kMostPoints = 4096;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Small numbers of rows each by itself, larger ones in eighths of octaves.
int cell_of(int rows) {
  constexpr int kEach = 32;
  if (rows <= kEach) return rows;
  const int octave = static_cast<int>(std::bit_width(static_cast<unsigned>(rows))) - 1;
  return kEach + (octave - 5) * 8 + ((rows >> (octave - 3)) & 7) + 1;
}

}  // namespace

// A cell with few samples says little: it is left to the line, unless there is hardly anything
// else.
void CostCurve::fit() {
  struct Cell {
    double rows = 0;
    std::vector<double> seconds;
  };
  std::map<int, Cell> cells;
  std::size_t most = 0;
  for (const auto& [rows, seconds] : samples_) {
    Cell& cell = cells[cell_of(rows)];
    for (const double each : seconds) {
      cell.rows += rows;
      cell.seconds.push_back(each);
    }
    most = std::max(most, cell.seconds.size());
  }
  const std::size_t least = std::min<std::size_t>(4, most);
  std::vector<Point> points;
  for (const auto& [number, cell] : cells) {
    const std::size_t count = cell.seconds.size();
    if (count >= least)
      points.push_back({.rows = cell.rows / static_cast<double>(count),
                        .seconds = median(cell.seconds),
                        .samples = static_cast<int>(count)});
  }
  set(std::move(points));
}

// More rows never take less time; where they seem to, both are taken for what they are on average.
void CostCurve::set(std::vector<Point> points) {
  std::vector<Point> pools;
  std::vector<std::size_t> sizes;
  for (const Point& point : points) {
    pools.push_back(point);
    sizes.push_back(1);
    while (pools.size() > 1 && pools[pools.size() - 2].seconds > pools.back().seconds) {
      const Point last = pools.back();
      pools.pop_back();
      Point& before = pools.back();
      const int samples = before.samples + last.samples;
      before.seconds = (before.seconds * before.samples + last.seconds * last.samples) / samples;
      before.samples = samples;
      sizes[sizes.size() - 2] += sizes.back();
      sizes.pop_back();
    }
  }
  points_ = std::move(points);
  line_ = {};
  std::size_t next = 0;
  for (std::size_t pool = 0; pool < pools.size(); ++pool)
    for (std::size_t i = 0; i < sizes[pool]; ++i) points_[next++].seconds = pools[pool].seconds;
  for (const Point& point : points_)
    for (int i = 0; i < std::min(point.samples, 32); ++i)
      line_.add(static_cast<int>(std::lround(point.rows)), point.seconds);
}

double CostCurve::of(int rows) const {
  if (points_.empty()) return 0;
  const auto line = [&](double n) { return line_.fixed() + line_.per_row() * n; };
  const auto above = std::ranges::find_if(
      points_, [&](const Point& point) { return point.rows >= static_cast<double>(rows); });
  // Beyond what was measured the line goes on from the last point.
  if (above == points_.end())
    return points_.back().seconds + line(rows) - line(points_.back().rows);
  if (above == points_.begin())
    return std::max(points_.front().seconds * 0.5,
                    points_.front().seconds + line(rows) - line(points_.front().rows));
  const Point& below = *(above - 1);
  const double share = (rows - below.rows) / (above->rows - below.rows);
  return below.seconds + share * (above->seconds - below.seconds);
}

boost::json::value CostCurve::to_json() const {
  boost::json::array points;
  for (const Point& point : points_)
    points.push_back({{"rows", point.rows}, {"seconds", point.seconds}, {"samples", point.samples}});
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
    const Point point{.rows = fields.required_number("rows"),
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
