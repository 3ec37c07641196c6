#pragma once
// MetricPage: the text of /metrics, read back by tests, so that they speak of values.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

class MetricPage {
 public:
  using Labels = std::map<std::string, std::string>;

  explicit MetricPage(std::string_view text);

  // The value of the one series of "sglang:<name>" that has all these labels (and maybe others);
  // NaN when there is none or more than one.
  double value(std::string_view name, const Labels& labels = {}) const;
  bool has(std::string_view name, const Labels& labels = {}) const;

 private:
  struct Series {
    std::string name;
    Labels labels;
    double value = 0;
  };
  std::vector<Series> series_;
};

}  // namespace foretoken
