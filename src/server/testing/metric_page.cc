#include "server/testing/metric_page.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace foretoken {
namespace {

// `a="1",b="2"`; values of tests hold no quotes and commas.
MetricPage::Labels read_labels(std::string_view text) {
  MetricPage::Labels labels;
  while (!text.empty()) {
    const auto equals = text.find("=\""), end = text.find('"', equals + 2);
    if (equals == std::string_view::npos || end == std::string_view::npos) break;
    labels.emplace(text.substr(0, equals), text.substr(equals + 2, end - equals - 2));
    text.remove_prefix(std::min(text.size(), end + 2));  // the comma, too
  }
  return labels;
}

}  // namespace

MetricPage::MetricPage(std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    const auto space = line.rfind(' ');
    if (line.starts_with('#') || space == std::string_view::npos) continue;
    const auto open = line.find('{'), close = line.rfind('}');
    Series series{.name = std::string(line.substr(0, std::min(open, space))),
                  .labels = {},
                  .value = std::strtod(std::string(line.substr(space)).c_str(), nullptr)};
    if (open != std::string_view::npos)
      series.labels = read_labels(line.substr(open + 1, close - open - 1));
    series_.push_back(std::move(series));
  }
}

double MetricPage::value(std::string_view name, const Labels& labels) const {
  const Series* found = nullptr;
  for (const Series& series : series_) {
    const bool has_all = std::ranges::all_of(labels, [&](const auto& label) {
      const auto own = series.labels.find(label.first);
      return own != series.labels.end() && own->second == label.second;
    });
    if (series.name != "sglang:" + std::string(name) || !has_all) continue;
    if (found != nullptr) return std::numeric_limits<double>::quiet_NaN();
    found = &series;
  }
  return found != nullptr ? found->value : std::numeric_limits<double>::quiet_NaN();
}

bool MetricPage::has(std::string_view name, const Labels& labels) const {
  return !std::isnan(value(name, labels));
}

}  // namespace foretoken
