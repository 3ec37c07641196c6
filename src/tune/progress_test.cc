#include "tune/progress.h"

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

class ProgressTest : public testing::Test {
 protected:
  std::string shown() const {
    std::string text(static_cast<std::size_t>(std::ftell(file_.get())), '\0');
    std::rewind(file_.get());
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file_.get()), text.size());
    return text;
  }
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_{std::tmpfile()};
  double now_ = 5;
};

TEST(ProgressText, says_how_long_it_takes_still) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(65.4), "1:05");
  EXPECT_EQ(duration_text(3725), "1:02:05");
  EXPECT_EQ(duration_text(-3), "0:00");
  EXPECT_EQ(progress_text("Work", 0.25, 10),
            "Work                     [######..................]  25% 0:30 left");
  EXPECT_EQ(progress_text("Work", 0, 10),
            "Work                     [........................]   0% ?");
  EXPECT_EQ(progress_text("Work", 1, 10),
            "Work                     [########################] 100% done in 0:10");
  EXPECT_EQ(progress_text("Work", 7, 10), progress_text("Work", 1, 10));
}

TEST_F(ProgressTest, a_terminal_has_one_line) {
  {
    Progress progress(file_.get(), true, "Work", [this] { return now_; });
    now_ += 10;
    progress.show(0.5);
    progress.show(0.51);  // at once again: not drawn
    now_ += 10;
    progress.show(1);
  }
  const std::string text = shown();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  EXPECT_EQ(std::ranges::count(text, '\r'), 3);
  EXPECT_NE(text.find("50% 0:10 left"), std::string::npos);
  EXPECT_NE(text.find("100% done in 0:20\r\n"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(ProgressTest, what_others_write_begins_a_line) {
  Progress progress(file_.get(), true, "Work", [this] { return now_; });
  now_ += 10;
  progress.show(0.5);
  EXPECT_EQ(shown().back(), '\r');
}

TEST_F(ProgressTest, a_file_has_a_line_now_and_then) {
  {
    Progress progress(file_.get(), false, "Work", [this] { return now_; });
    for (int i = 1; i <= 1000; ++i) {
      now_ += 0.01;
      progress.show(i / 1000.0);
    }
  }
  const std::string text = shown();
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
  EXPECT_EQ(std::ranges::count(text, '\r'), 0);
}

}  // namespace
}  // namespace foretoken
