#include "app/machine/autotune.h"

#include <fstream>

#include <gtest/gtest.h>

#include "app/machine/machine.h"
#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

const std::vector<TunedProduct> kProducts{{.name = "64 to 128 bfloat16",
                                           .rows = 4,
                                           .plan = "cols 64",
                                           .usual_seconds = 2e-6,
                                           .tuned_seconds = 1e-6},
                                          {.name = "64 to 128 bfloat16",
                                           .rows = 8,
                                           .plan = "usual",
                                           .usual_seconds = 3e-6,
                                           .tuned_seconds = 3e-6}};

TEST(PlanFile, holds_what_was_written_for_the_same_machine_only) {
  const TestFolder folder;
  const std::string file = plan_file(folder.path() + "/new/folder", "CPU (R); 2 threads");
  EXPECT_EQ(file, folder.path() + "/new/folder/products-CPU--R---2-threads.json");
  EXPECT_TRUE(read_plans(file, "CPU (R); 2 threads").empty());
  write_plans(file, "CPU (R); 2 threads", kProducts);
  const auto read = read_plans(file, "CPU (R); 2 threads");
  ASSERT_EQ(read.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read[i].name, kProducts[i].name);
    EXPECT_EQ(read[i].rows, kProducts[i].rows);
    EXPECT_EQ(read[i].plan, kProducts[i].plan);
    EXPECT_DOUBLE_EQ(read[i].usual_seconds, kProducts[i].usual_seconds);
    EXPECT_DOUBLE_EQ(read[i].tuned_seconds, kProducts[i].tuned_seconds);
  }
  EXPECT_TRUE(read_plans(file, "CPU <R>; 2 threads").empty());
}

TEST(PlanFile, that_cannot_be_used_is_as_none) {
  const TestFolder folder;
  for (const char* text :
       {"", "[]", "{", R"({"version": 1})", R"({"version": "1", "machine": "m", "products": []})",
        R"({"version": 2, "machine": "m", "products": [{}]})",
        R"({"version": 1, "machine": "m", "products": {}})",
        R"({"version": 1, "machine": "m", "products": [1]})",
        R"({"version": 1, "machine": "m", "products": [{"product": "a"}]})",
        R"({"version": 1, "machine": "m", "products": [{"product": "a", "rows": -1, "plan": "",
            "usual_us": 1, "tuned_us": 1}]})"}) {
    folder.write("plans.json", text);
    EXPECT_TRUE(read_plans(folder.path() + "/plans.json", "m").empty()) << text;
  }
}

TEST(PlanFile, that_cannot_be_written_costs_no_more_than_a_warning) {
  const TestFolder folder;
  folder.write("file", "");
  write_plans(folder.path() + "/file/plans.json", "m", kProducts);
  EXPECT_TRUE(read_plans(folder.path() + "/file/plans.json", "m").empty());
}

TEST(Machine, has_a_processor_with_a_name) {
  const TestFolder root;
  EXPECT_EQ(processor_name(root.path()), "unknown processor");
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU: fast\nflags\t: x\n");
  EXPECT_EQ(processor_name(root.path()), "A CPU: fast");
  root.write("proc/cpuinfo",
             "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\n"
             "processor\t: 1\nCPU implementer\t: 0x41\n");
  EXPECT_EQ(processor_name(root.path()), "CPU implementer 0x41, CPU variant 0x3, CPU part 0xd0c");
}

// A backend whose plans are those that it is told, and otherwise "made up".
class TunedOps final : public Delegate {
 public:
  using Delegate::Delegate;
  std::vector<TunedProduct> tune(int max_rows, std::span<const TunedProduct> known) override {
    asked_rows = max_rows;
    known_names.clear();
    for (const TunedProduct& product : known) known_names.push_back(product.name);
    return {{.name = "own", .rows = 1, .plan = "made up", .usual_seconds = 1, .tuned_seconds = 1}};
  }
  int asked_rows = 0;
  std::vector<std::string> known_names;
};

TEST(Autotune, asks_the_backend_with_what_is_kept_and_keeps_what_it_says) {
  const TestFolder folder;
  ThreadPool pool(1, false);
  TunedOps ops(make_backend({.device = "reference"}, pool));
  AutotuneOptions options{
      .mode = AutotuneOptions::Mode::kOff, .max_rows = 8, .folder = folder.path()};
  autotune(ops, options);
  EXPECT_EQ(ops.asked_rows, 0);
  const std::string machine = processor_name() + "; " + ops.description();
  const std::string file = plan_file(folder.path(), machine);
  write_plans(file, machine, kProducts);
  options.mode = AutotuneOptions::Mode::kCached;
  autotune(ops, options);
  EXPECT_EQ(ops.asked_rows, 8);
  EXPECT_EQ(ops.known_names.size(), 2U);
  const auto kept = read_plans(file, machine);
  ASSERT_EQ(kept.size(), 3U) << "those of other models stay";
  EXPECT_EQ(kept[0].plan, "made up");
  options.mode = AutotuneOptions::Mode::kLoad;
  autotune(ops, options);
  EXPECT_TRUE(ops.known_names.empty()) << "everything is measured again";
  EXPECT_EQ(read_plans(file, machine).size(), 3U);
}

}  // namespace
}  // namespace foretoken
