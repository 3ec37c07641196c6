#include "tune/html_plot.h"

#include <algorithm>

#include <fmt/format.h>

#include "tune/tune_report.h"

namespace foretoken {
namespace {

constexpr double kWidth = 860, kHeight = 330, kLeft = 58, kRight = 16, kTop = 14, kBottom = 46;

std::vector<double> ticks(double low, double high) {
  const double span = std::max(high - low, 1e-9);
  const double raw = span / 5, power = std::pow(10, std::floor(std::log10(raw)));
  const double unit = raw / power, step = power * (unit < 1.5 ? 1
                                                   : unit < 3 ? 2
                                                   : unit < 7 ? 5
                                                              : 10);
  std::vector<double> found;
  for (double at = std::ceil(low / step) * step; at <= high + step * 1e-6; at += step)
    found.push_back(std::abs(at) < step * 1e-6 ? 0 : at);
  return found;
}

// What of both axes is shown, and where on the picture.
class Frame {
 public:
  Frame(const std::vector<PlotLine>& lines, const PlotAxes& axes) : axes_(axes) {
    for (const PlotLine& line : lines)
      for (const auto& [x, y] : line.points) {
        low_x = std::min(low_x, place(x));
        high_x = std::max(high_x, place(x));
        low_y = std::min(low_y, y);
        high_y = std::max(high_y, y);
      }
    if (is_empty()) return;
    if (!std::isnan(axes.y_mark)) {
      low_y = std::min(low_y, axes.y_mark);
      high_y = std::max(high_y, axes.y_mark);
    }
    const double pad_y = std::max((high_y - low_y) * 0.06, 1e-6);
    low_y -= low_y == 0 ? 0 : pad_y;
    high_y += pad_y;
    const double pad_x = high_x > low_x ? (high_x - low_x) * 0.02 : 0.5;
    low_x -= pad_x;
    high_x += pad_x;
  }

  bool is_empty() const { return !(low_x <= high_x); }
  double sx(double x) const {
    return kLeft + (place(x) - low_x) / (high_x - low_x) * (kWidth - kLeft - kRight);
  }
  double sy(double y) const {
    return kHeight - kBottom - (y - low_y) / (high_y - low_y) * (kHeight - kTop - kBottom);
  }

  double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = -INFINITY;

 private:
  double place(double x) const { return axes_.log_x ? std::log2(std::max(x, 1e-9)) : x; }

  const PlotAxes& axes_;
};

std::string grid(const Frame& frame, const PlotAxes& axes) {
  std::string svg;
  for (const double y : ticks(frame.low_y, frame.high_y))
    svg += fmt::format(
        "<line class=grid x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}'/><text x='{3}' y='{4:.1f}' "
        "text-anchor='end'>{5:g}</text>",
        kLeft, kWidth - kRight, frame.sy(y), kLeft - 8, frame.sy(y) + 4, y);
  for (const double x : axes.x_ticks.empty() ? ticks(frame.low_x, frame.high_x) : axes.x_ticks)
    svg += fmt::format(
        "<line class=grid x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}'/><text x='{0:.1f}' y='{3}' "
        "text-anchor='middle'>{4:g}</text>",
        frame.sx(x), kTop, kHeight - kBottom, kHeight - kBottom + 18, x);
  if (!std::isnan(axes.y_mark))
    svg += fmt::format(
        "<line class=axis stroke-dasharray='5 4' x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}'/>",
        kLeft, kWidth - kRight, frame.sy(axes.y_mark));
  return svg;
}

std::string axis_names(const PlotAxes& axes) {
  std::string svg;
  svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 6, html_escaped(axes.x));
  svg += fmt::format(
      "<text x='14' y='{0:.1f}' text-anchor='middle' transform='rotate(-90 14 {0:.1f})'>{1}</text>",
      (kTop + kHeight - kBottom) / 2, html_escaped(axes.y));
  return svg;
}

std::string curve(const PlotLine& line, const Frame& frame, double y_mark) {
  std::string path, svg;
  for (const auto& [x, y] : line.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.sx(x), frame.sy(y));
  svg += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='2'/>", path,
                     plot_colour(line.colour));
  if (line.cross > 0)
    svg += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='6' fill='var(--card)' stroke='{}' "
        "stroke-width='2'><title>{}</title></circle>",
        frame.sx(line.cross), frame.sy(y_mark), plot_colour(line.colour), html_escaped(line.name));
  for (const auto& [x, y] : line.points)
    svg += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='{}'><title>{}: {:.4g}, {:.4g}</title>"
        "</circle>",
        frame.sx(x), frame.sy(y), plot_colour(line.colour), html_escaped(line.name), x, y);
  return svg;
}

}  // namespace

std::string plot_colour(std::size_t number) {
  return fmt::format("var(--c{})", number % kPlotColours);
}

std::string plot_legend(const std::vector<PlotLine>& lines) {
  std::string html = "<div class=legend>";
  for (const PlotLine& line : lines)
    html += fmt::format("<span><i style='background:{}'></i>{}</span>", plot_colour(line.colour),
                        html_escaped(line.name));
  return html + "</div>";
}

std::string line_plot(const std::vector<PlotLine>& lines, const PlotAxes& axes) {
  const Frame frame(lines, axes);
  if (frame.is_empty()) return "<p class=dim>Nothing to show.</p>";
  std::string svg = fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>", kWidth,
                                kHeight, html_escaped(axes.y + " by " + axes.x));
  svg += grid(frame, axes) + axis_names(axes);
  for (const PlotLine& line : lines) svg += curve(line, frame, axes.y_mark);
  return svg + "</svg>" + plot_legend(lines);
}

}  // namespace foretoken
