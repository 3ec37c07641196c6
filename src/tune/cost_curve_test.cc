#include "tune/cost_curve.h"

#include <string>

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/error.h"
#include "tune/step_costs.h"

namespace foretoken {
namespace {

TEST(CostCurve, a_line_is_found_and_goes_on_beyond_what_was_measured) {
  CostCurve curve;
  for (const int rows : {1, 2, 4, 8, 16})
    for (int i = 0; i < 9; ++i) curve.add(rows, 0.010 + 0.001 * rows);
  curve.fit();
  EXPECT_NEAR(curve.fixed(), 0.010, 1e-6);
  EXPECT_NEAR(curve.per_row(), 0.001, 1e-6);
  for (const int rows : {1, 3, 8, 12, 64, 1000})
    EXPECT_NEAR(curve.of(rows), 0.010 + 0.001 * rows, 1e-6) << rows;
}

// Kernels have steps that no line has.
TEST(CostCurve, between_measured_rows_it_follows_the_measurements) {
  CostCurve curve;
  for (int i = 0; i < 4000; ++i) {
    curve.add(1, 0.001);
    curve.add(2, 0.001);
    curve.add(3, 0.004);
    curve.add(5, 0.006);
  }
  curve.fit();
  EXPECT_NEAR(curve.of(2), 0.001, 1e-4);
  EXPECT_NEAR(curve.of(3), 0.004, 1e-4);
  EXPECT_NEAR(curve.of(4), 0.005, 1e-4);
}

TEST(CostCurve, slow_moments_do_not_count) {
  CostCurve curve;
  for (int i = 0; i < 30; ++i) curve.add(4, i % 10 == 0 ? 1.0 : 0.002);
  curve.fit();
  EXPECT_NEAR(curve.of(4), 0.002, 1e-9);
}

TEST(CostCurve, more_rows_never_take_less) {
  CostCurve curve;
  for (int i = 0; i < 9; ++i) {
    curve.add(1, 0.003);
    curve.add(2, 0.001);
    curve.add(3, 0.004);
  }
  curve.fit();
  double before = 0;
  for (int rows = 1; rows <= 10; ++rows) {
    EXPECT_GE(curve.of(rows), before) << rows;
    before = curve.of(rows);
  }
}

TEST(CostCurve, sizes_that_came_once_are_taken_for_what_neighbours_say) {
  CostCurve curve;
  for (const int rows : {1, 2, 4, 8})
    for (int i = 0; i < 100; ++i) curve.add(rows, 0.001 * rows);
  curve.add(3, 0.006);
  curve.fit();
  EXPECT_NEAR(curve.of(3), 0.003, 0.0003);
  EXPECT_NEAR(curve.of(4), 0.004, 0.0003);
}

TEST(CostCurve, nothing_measured_is_nothing) {
  CostCurve curve;
  curve.fit();
  EXPECT_TRUE(curve.empty());
  EXPECT_EQ(curve.of(7), 0);
  curve.add(3, 0.5);
  curve.fit();
  EXPECT_EQ(curve.of(3), 0.5);
}

CostTable table() {
  CostTable table;
  table.machine = "some \"machine\"";
  for (const int at_once : {1, 16}) {
    StepCosts& costs = table.at_once[at_once];
    for (const int rows : {1, 2, 8}) {
      costs.plain.add(rows, 0.01 * at_once);
      costs.target.add(rows, 0.01 * at_once + 0.001 * rows);
      costs.level.add(rows, 0.0001 * rows);
    }
    costs.fit();
  }
  return table;
}

TEST(CostTable, survives_being_written_and_read) {
  const CostTable written = table();
  const CostTable read = CostTable::parse(written.to_json(), "file");
  EXPECT_EQ(read.machine, written.machine);
  ASSERT_EQ(read.at_once.size(), 2U);
  for (const auto& [at_once, costs] : written.at_once)
    for (const int rows : {1, 3, 8, 20}) {
      EXPECT_EQ(read.at_once.at(at_once).target.of(rows), costs.target.of(rows));
      EXPECT_EQ(read.at_once.at(at_once).level.of(rows), costs.level.of(rows));
      EXPECT_EQ(read.at_once.at(at_once).reading.of(rows), 0);
    }
}

TEST(CostTable, the_nearest_load_answers) {
  const CostTable costs = table();
  EXPECT_EQ(&costs.of(1), &costs.at_once.at(1));
  EXPECT_EQ(&costs.of(3), &costs.at_once.at(1));
  EXPECT_EQ(&costs.of(5), &costs.at_once.at(16));
  EXPECT_EQ(&costs.of(300), &costs.at_once.at(16));
}

TEST(CostTable, what_cannot_be_read_is_refused) {
  const auto fault = [](const std::string& json) -> std::string {
    try {
      CostTable::parse(json, "file");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(fault("{"), "no error");
  EXPECT_EQ(fault("{}"), "costs that cannot be read (file): expected version 1, found none");
  EXPECT_EQ(fault(R"({"version": 2})"),
            "costs that cannot be read (file): expected version 1, found 2");
  EXPECT_NE(fault(R"({"version": 1})").find("at_once"), std::string::npos);
  EXPECT_NE(fault(R"({"version": 1, "at_once": {"x": {}}})").find("found x"), std::string::npos);
  EXPECT_NE(fault(R"({"version": 1, "at_once": {"0": {}}})").find("found 0"), std::string::npos);
  EXPECT_NE(fault(R"({"version": 1, "at_once": {"1": 7}})").find("an object"), std::string::npos);
  EXPECT_NE(fault(R"({"version": 1, "at_once": {"1": {}}})").find("\"plain\""), std::string::npos);
  const auto with_points = [&](const std::string& points) {
    return fault(R"({"version": 1, "at_once": {"1": {"plain": {"points": )" + points + "}}}}");
  };
  for (const char* points : {"7", "[7]", R"([{"rows": 1}])", R"([{"rows": 1, "seconds": 0}])",
                             R"([{"rows": 1, "seconds": -1}])",
                             R"([{"rows": 2, "seconds": 1}, {"rows": 1, "seconds": 2}])",
                             R"([{"rows": 1, "seconds": 1, "samples": 0}])"})
    EXPECT_NE(with_points(points).find("file"), std::string::npos) << points;
}

TEST(CostTable, rows_may_begin_at_0) {
  const auto json =
      boost::json::parse(R"({"points": [{"rows": 0, "seconds": 1}, {"rows": 2, "seconds": 2}]})");
  EXPECT_EQ(CostCurve::from_json(json, "file").of(2), 2);
}

}  // namespace
}  // namespace foretoken
