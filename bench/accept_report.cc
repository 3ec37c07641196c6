#include "bench/accept_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/report.h"

namespace foretoken {
namespace {

// 0: there is no plain decoding of its model.
double against_plain(const MethodResult& result, const std::vector<MethodResult>& all) {
  if (result.plain) return speed_up(result, all[*result.plain]);
  const auto plain = std::ranges::find_if(
      all, [&](const MethodResult& r) { return r.is_plain && r.model == result.model; });
  return plain == all.end() ? 0.0 : speed_up(result, *plain);
}

std::string format_row(const MethodResult& result, const std::vector<MethodResult>& all,
                       std::size_t width) {
  if (!result.skipped.empty())
    return fmt::format("{:<{}} skipped: {}\n", result.name, width, result.skipped);
  const double proposed = static_cast<double>(std::max(result.proposed_drafts, 1L));
  return fmt::format(
      "{:<{}} {:>8.2f} {:>8.2f} {:>10.1f} {:>8.2f}  {}\n", result.name, width,
      accept_length(result), static_cast<double>(result.accepted_drafts) / proposed,
      tokens_per_second(result), against_plain(result, all),
      result.is_plain
          ? fmt::format("{} answers, {} tokens, {}", result.answers, result.tokens, result.model)
      : result.is_simulated ? "simulated"
      : result.different_answers == 0
          ? "identical"
          : fmt::format("{} of {} DIFFER", result.different_answers, result.answers));
}

}  // namespace

double accept_length(const MethodResult& result) {
  const auto steps = static_cast<double>(std::max(result.verify_steps, 1L));
  return (steps + static_cast<double>(result.accepted_drafts)) / steps;
}

double tokens_per_second(const MethodResult& result) {
  return static_cast<double>(result.tokens) / median(result.seconds);
}

double speed_up(const MethodResult& result, const MethodResult& plain) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < result.seconds.size(); ++i)
    ratios.push_back(plain.seconds.at(i) / result.seconds[i]);
  // One where the texts are the same; simulated ones may be of another length.
  const double length = static_cast<double>(result.tokens) / static_cast<double>(plain.tokens);
  return median(std::move(ratios)) * length;
}

std::string format_results(const std::vector<MethodResult>& results) {
  std::size_t width = 24;
  for (const MethodResult& result : results) width = std::max(width, result.name.size());
  std::string text = fmt::format("{:<{}} {:>8} {:>8} {:>10} {:>8}  {}\n", "method", width, "accept",
                                 "rate", "tokens/s", "x plain", "texts against plain");
  for (const MethodResult& result : results) text += format_row(result, results, width);
  return text;
}

std::string format_loads(const std::vector<int>& at_once,
                         const std::vector<std::vector<MethodResult>>& results) {
  std::size_t width = 24;
  for (const MethodResult& result : results.front()) width = std::max(width, result.name.size());
  std::string text = fmt::format("{:<{}}", "x plain, at once", width);
  for (const int load : at_once) text += fmt::format(" {:>6}", load);
  text += '\n';
  for (std::size_t i = 0; i < results.front().size(); ++i) {
    const MethodResult& result = results.front()[i];
    if (result.is_plain || result.is_off || !result.skipped.empty()) continue;
    text += fmt::format("{:<{}}", result.name, width);
    for (const auto& of_load : results)
      text += fmt::format(" {:>6.2f}", against_plain(of_load[i], of_load));
    text += '\n';
  }
  return text;
}

}  // namespace foretoken
