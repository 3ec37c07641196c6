#include "base/log.h"

#include <algorithm>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::string logged(std::string_view text) {
  testing::internal::CaptureStderr();
  log_info("{}", text);
  return testing::internal::GetCapturedStderr();
}

// As others that write such logs do, so that tools that read theirs read these.
TEST(Log, a_line_begins_with_its_time) {
  const std::string out = logged("text");
  EXPECT_TRUE(std::regex_match(out, std::regex(R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] text\n)")))
      << out;
}

TEST(Log, a_line_break_in_a_text_begins_no_line) {
  const std::string out = logged("rid=x\n[2026-01-31 12:00:00] Finish: rid=y\r\nz");
  EXPECT_EQ(std::ranges::count(out, '\n'), 1);
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_TRUE(out.ends_with("rid=x\\n[2026-01-31 12:00:00] Finish: rid=y\\r\\nz\n")) << out;
}

TEST(Log, control_characters_are_shown_not_sent_to_the_terminal) {
  EXPECT_TRUE(logged(std::string_view("a\x1b[2Jb\0c\x7f", 9)).ends_with("a\\x1b[2Jb\\x00c\\x7f\n"));
  EXPECT_TRUE(logged("\xc2\x85|\xe2\x80\xa8|\xe2\x80\xa9")
                  .ends_with("\\xc2\\x85|\\xe2\\x80\\xa8|\\xe2\\x80\\xa9\n"));
}

TEST(Log, other_characters_stay) {
  EXPECT_TRUE(logged("Grüße, 世界 \xc2\xa0 \xe2\x80\x94\\n")
                  .ends_with("Grüße, 世界 \xc2\xa0 \xe2\x80\x94\\n\n"));
}

}  // namespace
}  // namespace foretoken
