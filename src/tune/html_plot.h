#pragma once
// Plots of the report's page, as SVG with a legend. Colours are variables of the page's style,
// which follow the reader's light or dark mode. Not the page, and not what is plotted. Pure
// functions.

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace foretoken {

inline constexpr int kPlotColours = 7;  // of the page's style; the first is that of plain decoding
std::string plot_colour(std::size_t number);

struct PlotLine {
  std::string name;
  std::size_t colour = 0;
  std::vector<std::pair<double, double>> points = {};
  double cross = 0;  // where it crosses PlotAxes::y_mark; 0: it does not
};

struct PlotAxes {
  std::string x, y;
  bool log_x = false;
  std::vector<double> x_ticks;  // empty: chosen
  double y_mark = NAN;          // a line across
};

std::string line_plot(const std::vector<PlotLine>& lines, const PlotAxes& axes);

// One entry a line: its colour and its name.
std::string plot_legend(const std::vector<PlotLine>& lines);

}  // namespace foretoken
