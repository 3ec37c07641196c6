#include "tune/tune_report.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <boost/json.hpp>

namespace foretoken {
namespace {

// 0 where there is nothing to compare with.
double ratio(double value, double to) { return to > 0 ? value / to : 0; }

// Faster than plain decoding by less than this is not worth drafting.
constexpr double kLeastGain = 1.01;

boost::json::object tally_json(const ReplayResult::Tally& tally) {
  return {{"steps", tally.steps},
          {"accepted", tally.accepted},
          {"accept_length", tally.accept_length()}};
}

boost::json::object result_json(const TuneReport& report, std::size_t row, std::size_t batch) {
  const ReplayResult& result = report.result(row, batch);
  boost::json::array depths;
  for (const auto& depth : result.depths)
    depths.push_back({{"offered", depth.offered}, {"accepted", depth.accepted}});
  boost::json::object categories;
  for (const auto& [name, tally] : result.categories) categories[name] = tally_json(tally);
  boost::json::object json = tally_json(result.all);
  json["batch_size"] = report.batch_sizes[batch];
  json["tokens"] = result.tokens;
  json["proposed"] = result.proposed;
  json["rows"] = result.rows;
  json["unanswered"] = result.unanswered;
  json["depths"] = depths;
  json["categories"] = categories;
  if (result.seconds > 0) {
    json["seconds"] = result.seconds;
    json["drafting_seconds"] = result.drafting_seconds;
    json["tokens_per_second"] = result.tokens_per_second();
    json["speedup"] = report.speedup(row, batch);
  }
  return json;
}

bool is_plain_word(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '/' || c == '.' || c == ',' ||
           c == '+' || c == ':' || c == '=' || c == '@';
  });
}

}  // namespace

double TuneReport::speedup(std::size_t row, std::size_t batch) const {
  return ratio(result(row, batch).tokens_per_second(), result(0, batch).tokens_per_second());
}

double TuneReport::Check::speedup() const {
  return ratio(tokens_per_second, plain_tokens_per_second);
}

double TuneReport::Check::predicted_speedup() const {
  return ratio(predicted.tokens_per_second(), predicted_plain.tokens_per_second());
}

std::size_t TuneReport::best(std::size_t batch) const {
  std::size_t found = 0;
  for (std::size_t row = 1; row < rows.size(); ++row)
    if (result(row, batch).tokens_per_second() >
        result(found, batch).tokens_per_second() * (found == 0 ? kLeastGain : 1))
      found = row;
  return found;
}

double TuneReport::crossing(std::size_t row) const {
  for (std::size_t batch = 0; batch < batch_sizes.size(); ++batch) {
    const double gain = speedup(row, batch) - 1;
    if (gain > 0) continue;
    if (batch == 0) return 0;
    const double before = speedup(row, batch - 1) - 1;
    const double low = std::log(batch_sizes[batch - 1]), high = std::log(batch_sizes[batch]);
    return std::exp(low + (high - low) * before / (before - gain));
  }
  return -1;
}

std::string shell_line(const std::vector<std::string>& flags) {
  std::string line;
  for (const std::string& flag : flags) {
    if (!line.empty()) line += ' ';
    if (is_plain_word(flag)) {
      line += flag;
      continue;
    }
    line += '\'';
    for (const char c : flag) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::string report_table(const TuneReport& report) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t batch = 0; batch < report.batch_sizes.size(); ++batch) {
    std::vector<std::size_t> order;
    for (std::size_t row = 1; row < report.rows.size(); ++row) order.push_back(row);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const ReplayResult &x = report.result(a, batch), &y = report.result(b, batch);
      return x.seconds > 0 ? x.tokens_per_second() > y.tokens_per_second()
                           : x.accept_length() > y.accept_length();
    });
    if (order.size() > kShown) order.resize(kShown);
    order.insert(order.begin(), 0);
    text += fmt::format("{} at once\n  {:<32} {:>7} {:>7} {:>10} {:>8}", report.batch_sizes[batch],
                        "setting", "accept", "rows", "tokens/s", "x plain");
    text += "\n";
    for (const std::size_t row : order) {
      const ReplayResult& result = report.result(row, batch);
      const double rows = result.all.steps == 0 ? 1
                                                : 1 + static_cast<double>(result.proposed) /
                                                          static_cast<double>(result.all.steps);
      const std::string speed = result.seconds > 0
                                    ? fmt::format("{:>10.1f} {:>8.2f}", result.tokens_per_second(),
                                                  report.speedup(row, batch))
                                    : fmt::format("{:>10} {:>8}", "-", "-");
      text += fmt::format("  {:<32} {:>7.3f} {:>7.1f} {}", report.rows[row].setting.name,
                          result.accept_length(), rows, speed);
      text += result.unanswered > 0 ? "  (at least: the record lacks some rows)\n" : "\n";
    }
    if (report.costs.empty()) continue;
    const std::size_t best = report.best(batch);
    text += best == 0 ? std::string("  best: plain decoding, without any --speculative flag\n\n")
                      : fmt::format("  best: {}\n\n", shell_line(report.rows[best].setting.flags));
  }
  return text;
}

std::string report_checks(const TuneReport& report) {
  if (report.checks.empty()) return {};
  std::string text = fmt::format(
      "Run for real, predicted by what steps cost in the same minutes; above: the table's\n"
      "  {:<32} {:>7} {:>9} {:>7} {:>7} {:>11} {:>9} {:>7} {:>9} {:>9} {:>7} {:>7}\n",
      "setting", "at once", "predicted", "accept", "off", "predicted", "tokens/s", "off", "above",
      "predicted", "x plain", "off");
  const auto off = [](double predicted, double real) {
    return real > 0 ? fmt::format("{:+.1f}%", 100 * (predicted / real - 1)) : std::string("-");
  };
  for (const TuneReport::Check& check : report.checks) {
    const ReplayResult& predicted = check.predicted;
    text += fmt::format(
        "  {:<32} {:>7} {:>9.3f} {:>7.3f} {:>7} {:>11.1f} {:>9.1f} {:>7} {:>9.2f} {:>9.2f} "
        "{:>7.2f} "
        "{:>7}\n",
        report.rows[check.row].setting.name, report.batch_sizes[check.batch_size],
        predicted.accept_length(), check.accept_length,
        off(predicted.accept_length(), check.accept_length), predicted.tokens_per_second(),
        check.tokens_per_second, off(predicted.tokens_per_second(), check.tokens_per_second),
        report.speedup(check.row, check.batch_size), check.predicted_speedup(), check.speedup(),
        off(check.predicted_speedup(), check.speedup()));
  }
  return text + "\n";
}

std::string report_json(const TuneReport& report) {
  boost::json::array settings;
  for (std::size_t row = 0; row < report.rows.size(); ++row) {
    boost::json::array results;
    for (std::size_t batch = 0; batch < report.batch_sizes.size(); ++batch)
      results.push_back(result_json(report, row, batch));
    boost::json::array flags;
    for (const std::string& flag : report.rows[row].setting.flags)
      flags.push_back(boost::json::string(flag));
    settings.push_back(
        {{"name", report.rows[row].setting.name}, {"flags", flags}, {"results", results}});
  }
  boost::json::array best;
  for (std::size_t batch = 0; batch < report.batch_sizes.size() && !report.costs.empty(); ++batch) {
    const std::size_t row = report.best(batch);
    best.push_back({{"batch_size", report.batch_sizes[batch]},
                    {"setting", report.rows[row].setting.name},
                    {"flags", shell_line(report.rows[row].setting.flags)},
                    {"tokens_per_second", report.result(row, batch).tokens_per_second()},
                    {"speedup", report.speedup(row, batch)}});
  }
  boost::json::array checks;
  for (const TuneReport::Check& check : report.checks) {
    checks.push_back({{"setting", report.rows[check.row].setting.name},
                      {"batch_size", report.batch_sizes[check.batch_size]},
                      {"predicted_accept_length", check.predicted.accept_length()},
                      {"accept_length", check.accept_length},
                      {"predicted_tokens_per_second", check.predicted.tokens_per_second()},
                      {"tokens_per_second", check.tokens_per_second},
                      {"table_speedup", report.speedup(check.row, check.batch_size)},
                      {"predicted_speedup", check.predicted_speedup()},
                      {"speedup", check.speedup()},
                      {"plain_tokens_per_second", check.plain_tokens_per_second}});
  }
  boost::json::object json{
      {"version", 1},
      {"model", report.identity.model},
      {"draft", report.identity.draft},
      {"algorithm", report.identity.algorithm},
      {"backend", report.identity.backend},
      {"temperature", report.identity.temperature},
      {"max_new_tokens", report.identity.max_new_tokens},
      {"record", report.record_path},
      {"texts", report.texts},
      {"tokens", report.tokens},
      {"seconds",
       {{"record", report.record_seconds},
        {"costs", report.cost_seconds},
        {"replay", report.replay_seconds},
        {"checks", report.check_seconds}}},
      {"best", best},
      {"settings", settings},
      {"checks", checks},
  };
  if (!report.costs.empty()) json["costs"] = boost::json::parse(report.costs.to_json());
  return boost::json::serialize(json);
}

}  // namespace foretoken
