#include "tune/tune_report.h"

#include <cmath>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "tune/settings.h"

namespace foretoken {
namespace {

constexpr const char* kNasty = "a<b>&\"c\"'d'\n</script>";

ReplayResult result(std::int64_t steps, std::int64_t accepted, double seconds) {
  ReplayResult result;
  result.all = {steps, accepted};
  result.proposed = 3 * steps;
  result.tokens = steps + accepted;
  result.seconds = seconds;
  result.depths = {{100, 80}, {80, 40}, {3, 1}};
  result.categories[kNasty] = {steps, accepted};
  result.categories[""] = {1, 0};
  return result;
}

// Drafting is twice as fast for one, half as fast for 16.
TuneReport report() {
  TuneReport report;
  report.identity.model = kNasty;
  report.identity.algorithm = "EAGLE3";
  report.identity.draft = kNasty;
  report.identity.steps = report.identity.topk = 4;
  report.record_path = kNasty;
  report.texts = 7;
  report.tokens = 400;
  report.batch_sizes = {1, 16};
  report.costs.machine = kNasty;
  for (const int at_once : report.batch_sizes) {
    StepCosts& costs = report.costs.at_once[at_once];
    for (const int rows : {1, 2, 4}) {
      costs.plain.add(rows, 0.001);
      costs.target.add(rows, 0.001 + 0.0001 * rows);
      costs.level.add(rows, 0.0001 * rows);
    }
    costs.fit();
  }
  SettingBase base;
  base.algorithm = "EAGLE3";
  base.architecture = "LlamaForCausalLM";
  base.steps = base.topk = 4;
  base.flags = {"--speculative-draft-model-path", kNasty};
  report.rows.push_back({plain_setting(), {result(400, 0, 4), result(400, 0, 4)}});
  report.rows.push_back({shape_setting(base, {3, 2, 8}, TreeBudget::kFull),
                         {result(100, 300, 2), result(100, 300, 8)}});
  report.rows.push_back({shape_setting(base, {2, 1, 3}, TreeBudget::kFull),
                         {result(200, 200, 3), result(200, 200, 5)}});
  report.checks.push_back({.row = 1,
                           .batch_size = 0,
                           .accept_length = 4.1,
                           .tokens_per_second = 190,
                           .plain_tokens_per_second = 100,
                           .predicted = result(100, 300, 1.6),
                           .predicted_plain = result(400, 0, 4)});
  return report;
}

TEST(TuneReport, the_best_is_the_fastest_and_plain_where_nothing_pays) {
  const TuneReport found = report();
  EXPECT_EQ(found.best(0), 1U);
  EXPECT_EQ(found.best(1), 0U);
  EXPECT_DOUBLE_EQ(found.speedup(1, 0), 2);
  EXPECT_DOUBLE_EQ(found.speedup(1, 1), 0.5);
}

TEST(TuneReport, drafting_stops_to_pay_between_loads) {
  TuneReport found = report();
  // Between 1 (2 times) and 16 (half) on a logarithmic axis: two thirds of the way.
  EXPECT_NEAR(found.crossing(1), std::pow(16.0, 2.0 / 3), 1e-9);
  found.rows[1].results[1] = result(100, 300, 1);
  EXPECT_LT(found.crossing(1), 0);
  found.rows[1].results[0] = result(100, 300, 9);
  EXPECT_EQ(found.crossing(1), 0);
}

TEST(TuneReport, the_table_names_the_best_as_flags) {
  const std::string table = report_table(report());
  EXPECT_NE(table.find("1 at once\n"), std::string::npos);
  EXPECT_NE(table.find("16 at once\n"), std::string::npos);
  EXPECT_NE(table.find("--speculative-num-steps 3 --speculative-eagle-topk 2 "
                       "--speculative-num-draft-tokens 8 --draft-budget full"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("best: plain decoding"), std::string::npos);
  EXPECT_LT(table.find("EAGLE3 3/2/8"), table.find("EAGLE3 2/1/3"));
}

TEST(TuneReport, without_costs_there_are_accept_lengths) {
  TuneReport found = report();
  found.costs = {};
  for (auto& row : found.rows)
    for (auto& result : row.results) result.seconds = 0;
  const std::string table = report_table(found);
  EXPECT_NE(table.find("4.000"), std::string::npos);
  EXPECT_EQ(table.find("best:"), std::string::npos);
  EXPECT_NE(report_html(found).find("No costs were measured"), std::string::npos);
  EXPECT_FALSE(boost::json::parse(report_json(found)).as_object().contains("costs"));
}

TEST(TuneReport, what_the_record_lacks_is_told) {
  TuneReport found = report();
  found.rows[1].results[0].unanswered = 3;
  EXPECT_NE(report_table(found).find("at least"), std::string::npos);
  EXPECT_NE(report_html(found).find("≥"), std::string::npos);
}

TEST(TuneReport, checks_are_told_with_what_they_are_off) {
  const std::string text = report_checks(report());
  EXPECT_NE(text.find("-2.4%"), std::string::npos) << text;   // 4 for 4.1
  EXPECT_NE(text.find("+31.6%"), std::string::npos) << text;  // 250 for 190
  EXPECT_NE(text.find("2.00      2.50    1.90  +31.6%"), std::string::npos) << text;
  EXPECT_EQ(report_checks(TuneReport{}), "");
}

TEST(TuneReport, the_json_is_valid_and_whole) {
  const auto json = boost::json::parse(report_json(report())).as_object();
  EXPECT_EQ(json.at("model").as_string(), kNasty);
  ASSERT_EQ(json.at("settings").as_array().size(), 3U);
  const auto& setting = json.at("settings").as_array()[1].as_object();
  EXPECT_EQ(setting.at("name").as_string(), "EAGLE3 3/2/8");
  const auto& first = setting.at("results").as_array()[0].as_object();
  EXPECT_EQ(first.at("accept_length").as_double(), 4);
  EXPECT_EQ(first.at("tokens_per_second").as_double(), 200);
  EXPECT_EQ(first.at("speedup").as_double(), 2);
  EXPECT_EQ(first.at("depths").as_array().size(), 3U);
  EXPECT_TRUE(first.at("categories").as_object().contains(kNasty));
  EXPECT_EQ(json.at("best").as_array()[0].as_object().at("setting").as_string(), "EAGLE3 3/2/8");
  EXPECT_EQ(json.at("best").as_array()[1].as_object().at("setting").as_string(), "plain");
  ASSERT_EQ(json.at("checks").as_array().size(), 1U);
  const auto& check = json.at("checks").as_array()[0].as_object();
  EXPECT_EQ(check.at("table_speedup").as_double(), 2);
  EXPECT_EQ(check.at("predicted_speedup").as_double(), 2.5);
  EXPECT_EQ(check.at("speedup").as_double(), 1.9);
  EXPECT_TRUE(json.at("costs").as_object().contains("at_once"));
}

TEST(TuneReport, the_page_escapes_and_needs_nothing_else) {
  const std::string html = report_html(report());
  EXPECT_EQ(html.find("</script>"), std::string::npos);
  EXPECT_EQ(html.find("a<b>"), std::string::npos);
  EXPECT_NE(html.find("a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;"), std::string::npos);
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "<script"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(html.find("pays up to 6 at once"), std::string::npos);
  for (const char* title : {"Speed by load", "Accept length by shape", "Acceptance by depth",
                            "Accept length by category", "Run for real", "What work costs"})
    EXPECT_NE(html.find(title), std::string::npos) << title;
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
}

TEST(TuneReport, names_of_categories_end_before_their_bars_begin) {
  const std::string html = report_html(report());
  const std::size_t drawing = html.find("aria-label='accept length by category'");
  ASSERT_NE(drawing, std::string::npos);
  const auto x_of_next = [&](const std::string& element) {
    const std::size_t at = html.find(element, drawing);
    return std::stod(html.substr(at + element.size()));
  };
  EXPECT_LT(x_of_next("<text x='"), x_of_next("<rect x='"));
}

TEST(TuneReport, an_empty_report_is_a_page_too) {
  TuneReport empty;
  empty.batch_sizes = {1};
  empty.rows.push_back({plain_setting(), {ReplayResult{}}});
  EXPECT_NE(report_html(empty).find("</html>"), std::string::npos);
  boost::json::parse(report_json(empty));
}

TEST(ShellLine, quotes_what_a_shell_would_read) {
  EXPECT_EQ(shell_line({"--a", "b c", "d'e", "", "/x/y.z,1+2"}),
            "--a 'b c' 'd'\\''e' '' /x/y.z,1+2");
}

}  // namespace
}  // namespace foretoken
