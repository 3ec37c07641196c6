#include "checkpoint/hub/pull_report.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

struct Shown {
  std::string text;
  double now = 100;

  PullReport report(bool is_terminal) {
    return PullReport({.write = [this](const std::string& more) { text += more; },
                       .is_terminal = is_terminal,
                       .now = [this] { return now; }});
  }
};

TEST(PullReport, a_file_is_a_line_and_every_ten_seconds_another) {
  Shown shown;
  auto report = shown.report(false);
  report.on_start("o/n", 2, 3'000'000);
  report.on_file("a.json", 1'000'000);
  report.on_bytes(1'000'000);
  report.on_done("a.json");
  report.on_file("b.bin", 2'000'000);
  shown.now += 9;
  report.on_bytes(1'000'000);
  shown.now += 1;
  report.on_bytes(500'000);
  report.on_wait("b.bin: a stall");
  EXPECT_EQ(shown.text,
            "Downloading o/n: 3.0 MB in 2 files.\n"
            "  a.json: 1.0 MB\n"
            "  b.bin: 2.0 MB\n"
            "  b.bin: 1.5 MB of 2.0 MB (75 %), all 83 %, 250 kB/s, 2 s left\n"
            "  b.bin: a stall\n");
}

TEST(PullReport, a_terminal_has_one_line_that_is_written_over) {
  Shown shown;
  auto report = shown.report(true);
  report.on_start("o/n", 1, 2000);
  report.on_file("a", 2000);
  shown.now += 1;
  report.on_bytes(1000);
  report.on_done("a");
  EXPECT_EQ(shown.text,
            "Downloading o/n: 2 kB in 1 file.\n"
            "  a: 1 kB of 2 kB (50 %), all 50 %, 1 kB/s, 1 s left"
            "\r\x1b[K  a: 2 kB\n");
}

}  // namespace
}  // namespace foretoken
