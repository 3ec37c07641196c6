#include "bench/report.h"

#include <algorithm>

#include <fmt/format.h>

namespace foretoken {
namespace {

// The median over rounds of value(round).
template <typename Value>
double median_over(std::size_t rounds, Value value) {
  std::vector<double> values;
  for (std::size_t i = 0; i < rounds; ++i) values.push_back(value(i));
  return median(std::move(values));
}

std::string format_series(const Report& report, const Series& series) {
  const std::vector<double>& plain = report.series.front().seconds;
  const auto over_rounds = [&](auto value) { return median_over(series.seconds.size(), value); };
  const double seconds = median(series.seconds);
  const auto bandwidth = [&](std::size_t i) { return series.bytes / series.seconds[i]; };
  const auto speed = [&](std::size_t i) { return series.flops / series.seconds[i]; };
  return fmt::format(
      "{:<16} {:>9.3f} {:>10.1f} {:>8.1f} {:>6.2f} {:>8.3f} {:>6.2f} {:>8.2f}\n", series.name,
      seconds * 1e3, series.tokens / seconds, over_rounds(bandwidth) / 1e9,
      over_rounds([&](std::size_t i) { return bandwidth(i) / report.roofs[i].read_bytes_per_s; }),
      over_rounds(speed) / 1e12, over_rounds([&](std::size_t i) {
        const Roof& roof = report.roofs[i];
        return speed(i) / (series.is_of_codes ? roof.code_ops_per_s : roof.flops_per_s);
      }),
      over_rounds([&](std::size_t i) { return series.seconds[i] / plain[i]; }));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string format_report(const Report& report) {
  const auto roof = [&](auto value) { return median_over(report.roofs.size(), value); };
  std::string text = fmt::format(
      "roofs, median of {} rounds: read {:.1f} GB/s, bf16 arithmetic {:.3f} TFLOP/s, of codes "
      "{:.3f} "
      "Top/s\n\n",
      report.roofs.size(),
      roof([&](std::size_t i) { return report.roofs[i].read_bytes_per_s; }) / 1e9,
      roof([&](std::size_t i) { return report.roofs[i].flops_per_s; }) / 1e12,
      roof([&](std::size_t i) { return report.roofs[i].code_ops_per_s; }) / 1e12);
  text += fmt::format("{:<16} {:>9} {:>10} {:>8} {:>6} {:>8} {:>6} {:>8}\n", "step", "ms",
                      "tokens/s", "GB/s", "share", "TFLOP/s", "share", "x plain");
  for (const Series& series : report.series) text += format_series(report, series);
  return text;
}

}  // namespace foretoken
