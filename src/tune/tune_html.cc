// The report as a page. It fetches nothing: its plots are SVG in the page, its style is below.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/index.h"
#include "tune/html_plot.h"
#include "tune/tune_report.h"

namespace foretoken {
namespace {

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--bg:#fbfbfa;--fg:#1d2129;--dim:#667080;--line:#d9dde3;--card:#fff;
--c0:#7a8290;--c1:#1f6fd6;--c2:#d9480f;--c3:#2b8a3e;--c4:#9c36b5;--c5:#b08900;--c6:#0b8a8f}
@media (prefers-color-scheme:dark){:root{--bg:#14171c;--fg:#e6e9ee;--dim:#98a2b3;--line:#323945;
--card:#1b2027;--c0:#98a2b3;--c1:#6ba6ff;--c2:#ff8f5c;--c3:#69c37b;--c4:#d48be8;--c5:#e0b93d;--c6:#4cc4c9}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 8px}
p{margin:6px 0 12px}.dim{color:var(--dim)}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px 16px;
margin:12px 0;overflow-x:auto}
.best{display:grid;gap:12px}
.best b{font-size:16px}
code{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere;display:block;margin-top:6px;
padding:8px 10px;background:var(--bg);border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;font-size:13px;width:100%}
th,td{text-align:right;padding:3px 7px;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}
th{color:var(--dim);font-weight:600}
svg{display:block;width:100%;height:auto;max-height:440px}
svg text{fill:var(--dim);font:12px system-ui,sans-serif}
svg .grid{stroke:var(--line);stroke-width:1}
svg .axis{stroke:var(--dim);stroke-width:1}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;margin-top:8px}
.legend i{display:inline-block;width:14px;height:4px;border-radius:2px;margin-right:6px;
vertical-align:middle}
details summary{cursor:pointer;color:var(--dim)}
)";

std::string card(const std::string& inside) { return "<div class=card>" + inside + "</div>"; }

// Rows worth a line of their own: the best of each batch size, then the best of each kind.
std::vector<std::size_t> shown_rows(const TuneReport& report) {
  std::vector<std::size_t> shown;
  const auto add = [&](std::size_t row) {
    if (row > 0 && std::ranges::count(shown, row) == 0 && shown.size() < kPlotColours - 1)
      shown.push_back(row);
  };
  const auto is_better = [&](std::size_t a, std::size_t b, std::size_t batch) {
    const ReplayResult &x = report.result(a, batch), &y = report.result(b, batch);
    return x.seconds > 0 ? x.tokens_per_second() > y.tokens_per_second()
                         : x.accept_length() > y.accept_length();
  };
  for (std::size_t batch = 0; batch < report.batch_sizes.size(); ++batch) add(report.best(batch));
  std::map<std::string, std::size_t> of_kind;
  for (std::size_t row = 1; row < report.rows.size(); ++row) {
    const auto [known, is_new] = of_kind.try_emplace(report.rows[row].setting.draft.algorithm, row);
    if (!is_new && is_better(row, known->second, 0)) known->second = row;
  }
  for (const auto& [kind, row] : of_kind) add(row);
  return shown;
}

std::string best_part(const TuneReport& report) {
  if (report.costs.empty())
    return card("<p>No costs were measured, so nothing is known of speeds.</p>");
  std::string html = "<div class=best>";
  for (std::size_t batch = 0; batch < report.batch_sizes.size(); ++batch) {
    const std::size_t row = report.best(batch);
    const std::string head = fmt::format("{} at once", report.batch_sizes[batch]);
    if (row == 0) {
      html +=
          card(fmt::format("<b>{}</b>: plain decoding, nothing pays<code>without any "
                           "--speculative flag</code>",
                           head));
      continue;
    }
    html += card(
        fmt::format("<b>{}</b>: {} <span class=dim>({:.0f} tokens/s, {:.2f} × plain, accept length "
                    "{:.2f})</span><code>{}</code>",
                    head, html_escaped(report.rows[row].setting.name),
                    report.result(row, batch).tokens_per_second(), report.speedup(row, batch),
                    report.result(row, batch).accept_length(),
                    html_escaped(shell_line(report.rows[row].setting.flags))));
  }
  return html + "</div>";
}

// By nodes, a line for each number of children: the best over all depths.
std::string accept_part(const TuneReport& report) {
  std::map<int, std::map<int, double>> best;
  for (const auto& row : report.rows) {
    const TreeShape& shape = row.setting.plan.model;
    if (shape.steps == 0 || row.setting.draft.budget != TreeBudget::kFull) continue;
    if (row.setting.plan.parts.size() != 1) continue;
    double& known = best[shape.topk][shape.nodes];
    known = std::max(known, row.results.front().accept_length());
  }
  std::vector<PlotLine> lines;
  std::set<int> sizes;
  for (const auto& [topk, by_nodes] : best) {
    PlotLine& line =
        lines.emplace_back(PlotLine{.name = topk == 1 ? "chains" : fmt::format("{} children", topk),
                                    .colour = 1 + lines.size()});
    for (const auto& [nodes, length] : by_nodes) {
      line.points.emplace_back(nodes, length);
      sizes.insert(nodes);
    }
  }
  std::vector<double> marks;
  for (const double nodes : {2, 4, 8, 16, 32, 64})
    if (!sizes.empty() && nodes >= *sizes.begin() && nodes <= *sizes.rbegin())
      marks.push_back(nodes);
  return card(line_plot(lines, {.x = "nodes of a tree, root included",
                                .y = "accept length",
                                .log_x = true,
                                .x_ticks = marks}));
}

std::string crossing_text(double crossing) {
  if (crossing < 0) return "pays at all loads looked at";
  if (crossing == 0) return "does not pay";
  return fmt::format("pays up to {:.0f} at once", std::floor(crossing));
}

std::string speed_part(const TuneReport& report) {
  std::vector<PlotLine> lines{{.name = "plain decoding", .points = {}}};
  for (const int at_once : report.batch_sizes) lines.front().points.emplace_back(at_once, 1);
  for (const std::size_t row : shown_rows(report)) {
    const double crossing = report.crossing(row);
    PlotLine& line = lines.emplace_back(PlotLine{
        .name = fmt::format("{}: {}", report.rows[row].setting.name, crossing_text(crossing)),
        .colour = lines.size()});
    line.cross = std::max(crossing, 0.0);
    for (std::size_t batch = 0; batch < report.batch_sizes.size(); ++batch)
      line.points.emplace_back(report.batch_sizes[batch], report.speedup(row, batch));
  }
  return card(line_plot(lines, {.x = "requests at once",
                                .y = "speed over plain decoding",
                                .log_x = true,
                                .x_ticks = {report.batch_sizes.begin(), report.batch_sizes.end()},
                                .y_mark = 1}));
}

std::string depth_part(const TuneReport& report) {
  std::vector<PlotLine> lines;
  std::set<double> depths;
  std::size_t number = 0;
  for (const std::size_t row : shown_rows(report)) {
    PlotLine line{report.rows[row].setting.name, ++number, {}};
    const auto& found = report.result(row, 0).depths;
    for (std::size_t d = 0; d < std::min<std::size_t>(found.size(), 16); ++d) {
      if (found[d].offered < 5) break;
      line.points.emplace_back(d + 1, 100 * static_cast<double>(found[d].accepted) /
                                          static_cast<double>(found[d].offered));
      depths.insert(static_cast<double>(d + 1));
    }
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return card(line_plot(lines, {.x = "depth in the tree",
                                .y = "% accepted where the one above was",
                                .x_ticks = {depths.begin(), depths.end()}}));
}

std::string category_part(const TuneReport& report) {
  const auto shown = shown_rows(report);
  std::set<std::string> names;
  for (const std::size_t row : shown)
    for (const auto& [name, tally] : report.result(row, 0).categories) names.insert(name);
  if (names.empty()) return {};
  constexpr double kWidth = 860, kName = 130, kBar = 13, kGap = 10;
  double most = 1;
  for (const std::size_t row : shown)
    for (const auto& [name, tally] : report.result(row, 0).categories)
      most = std::max(most, tally.accept_length());
  const double group = kBar * static_cast<double>(shown.size()) + kGap;
  const double height = group * static_cast<double>(names.size()) + 4;
  std::string svg = fmt::format(
      "<svg style='max-height:none' viewBox='0 0 {} {:.0f}' role='img' "
      "aria-label='accept length by category'>",
      kWidth, height);
  double y = 4;
  for (const std::string& name : names) {
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>", kName - 8,
                       y + (group - kGap) / 2 + 4, html_escaped(name.empty() ? "other" : name));
    for (std::size_t n = 0; n < shown.size(); ++n) {
      const auto& categories = report.result(shown[n], 0).categories;
      const auto found = categories.find(name);
      const double length = found == categories.end() ? 1 : found->second.accept_length();
      const double width = (kWidth - kName - 60) * length / most;
      svg += fmt::format(
          "<rect x='{}' y='{:.1f}' width='{:.1f}' height='{}' fill='{}'/><text x='{:.1f}' "
          "y='{:.1f}'>{:.2f}</text>",
          kName, y + kBar * static_cast<double>(n) + 1, width, kBar - 2, plot_colour(n + 1),
          kName + width + 6, y + kBar * static_cast<double>(n) + kBar - 2, length);
    }
    y += group;
  }
  std::vector<PlotLine> legend;
  for (std::size_t n = 0; n < shown.size(); ++n)
    legend.push_back({.name = report.rows[shown[n]].setting.name, .colour = n + 1});
  return card(svg + "</svg>" + plot_legend(legend));
}

std::string check_part(const TuneReport& report) {
  if (report.checks.empty()) return {};
  std::string html =
      "<h2>Run for real</h2><p class=dim>Speeds are means of rounds in turns with plain "
      "decoding; "
      "predicted by what steps cost in the same minutes. Above: what the table promised.</p>";
  std::string table =
      "<table><tr><th><th><th colspan=3>accept length<th colspan=3>tokens/s<th colspan=4>× plain"
      "</tr><tr><th>setting<th>at once<th>predicted<th>real<th>off<th>predicted<th>real<th>off"
      "<th>above<th>predicted<th>real<th>off</tr>";
  const auto off = [](double predicted, double real) {
    return real > 0 ? fmt::format("{:+.1f} %", 100 * (predicted / real - 1)) : std::string("–");
  };
  for (const auto& check : report.checks) {
    const ReplayResult& predicted = check.predicted;
    table += fmt::format(
        "<tr><td>{}<td>{}<td>{:.3f}<td>{:.3f}<td>{}<td>{:.0f}<td>{:.0f}<td>{}<td>{:.2f}<td>{:.2f}"
        "<td>{:.2f}<td>{}</tr>",
        html_escaped(report.rows[check.row].setting.name), report.batch_sizes[check.batch_size],
        predicted.accept_length(), check.accept_length,
        off(predicted.accept_length(), check.accept_length), predicted.tokens_per_second(),
        check.tokens_per_second, off(predicted.tokens_per_second(), check.tokens_per_second),
        report.speedup(check.row, check.batch_size), check.predicted_speedup(), check.speedup(),
        off(check.predicted_speedup(), check.speedup()));
  }
  return html + card(table + "</table>");
}

std::string cost_part(const TuneReport& report) {
  if (report.costs.empty()) return {};
  std::string html =
      "<h2>What work costs</h2><p class=dim>Milliseconds of a step of the target, and of a level "
      "of "
      "the draft model, by rows: means as measured, without the extreme ones.</p>";
  std::vector<PlotLine> target, level;
  for (const auto& [at_once, costs] : report.costs.at_once) {
    PlotLine steps{fmt::format("target, {} at once", at_once), target.size() + 1, {}};
    for (const auto& point : costs.target.points())
      steps.points.emplace_back(point.rows, 1000 * point.seconds);
    PlotLine levels{fmt::format("draft level, {} at once", at_once), level.size() + 4, {}};
    for (const auto& point : costs.level.points())
      levels.points.emplace_back(point.rows, 1000 * point.seconds);
    if (!steps.points.empty()) target.push_back(std::move(steps));
    if (!levels.points.empty()) level.push_back(std::move(levels));
  }
  for (PlotLine& line : level) target.push_back(std::move(line));
  return html + card(line_plot(target, {.x = "rows",
                                        .y = "milliseconds",
                                        .log_x = true,
                                        .x_ticks = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}}));
}

std::string table_part(const TuneReport& report) {
  std::string table = "<table><tr><th>setting<th>accept length";
  for (const int at_once : report.batch_sizes)
    table += fmt::format("<th>tokens/s, {} at once<th>× plain", at_once);
  table += "</tr>";
  for (std::size_t row = 0; row < report.rows.size(); ++row) {
    table += fmt::format("<tr><td>{}<td>{}{:.3f}", html_escaped(report.rows[row].setting.name),
                         report.result(row, 0).unanswered > 0 ? "≥ " : "",
                         report.result(row, 0).accept_length());
    for (std::size_t batch = 0; batch < report.batch_sizes.size(); ++batch)
      table +=
          report.result(row, batch).seconds > 0
              ? fmt::format("<td>{:.0f}<td>{:.2f}", report.result(row, batch).tokens_per_second(),
                            report.speedup(row, batch))
              : std::string("<td>–<td>–");
    table += "</tr>";
  }
  return card("<details><summary>" + std::to_string(report.rows.size()) + " settings</summary>" +
              table + "</table></details>");
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string html;
  for (const char c : text) switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  return html;
}

std::string report_html(const TuneReport& report) {
  std::string html =
      "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
      "content='width=device-width,initial-scale=1'><title>foretoken tune</title><style>";
  html += kStyle;
  html += "</style><main><h1>How to draft</h1>";
  html += fmt::format(
      "<p class=dim>{}{} · {} answers, {} tokens, temperature {:g} · {}</p>",
      html_escaped(report.identity.model),
      report.identity.algorithm.empty()
          ? ""
          : html_escaped(" with " + report.identity.algorithm + " of " + report.identity.draft),
      report.texts, report.tokens, report.identity.temperature,
      html_escaped(report.costs.empty() ? report.identity.backend : report.costs.machine));
  html += best_part(report);
  if (!report.costs.empty())
    html +=
        "<h2>Speed by load</h2><p class=dim>Over plain decoding with as many requests at once, by "
        "replayed steps and measured costs. Where a line meets 1, drafting stops to pay.</p>" +
        speed_part(report);
  if (report.identity.has_candidates())
    html +=
        "<h2>Accept length by shape</h2><p class=dim>Tokens that a step yields, of whole trees, "
        "the "
        "best number of levels for each size.</p>" +
        accept_part(report);
  html += "<h2>Acceptance by depth</h2>" + depth_part(report);
  html += "<h2>Accept length by category of prompt</h2>" + category_part(report);
  html += check_part(report);
  html += cost_part(report);
  html += "<h2>All settings</h2>" + table_part(report);
  html += fmt::format(
      "<p class=dim>Recording took {:.1f} s, costs {:.1f} s, replaying {:.1f} s, runs for real "
      "{:.1f} s.</p></main></html>\n",
      report.record_seconds, report.cost_seconds, report.replay_seconds, report.check_seconds);
  return html;
}

}  // namespace foretoken
