#include "server/http/kept_id.h"

#include <string>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

HttpRequest with_id(std::string id) {
  HttpRequest head;
  head.headers.emplace_back("x-request-id", std::move(id));
  return head;
}

TEST(KeptId, comes_back) {
  EXPECT_EQ(kept_id_line(with_id("a-7/{}")), "x-request-id: a-7/{}\r\n");
  EXPECT_EQ(kept_id(with_id(std::string(128, 'x'))), std::string(128, 'x'));
}

TEST(KeptId, is_none_where_it_would_break_a_head_or_a_log) {
  EXPECT_EQ(kept_id_line({}), "");
  for (const char* id : {"", "two words", "a\r\nset-cookie: b", "tab\t", "del\x7f", "caf\xc3\xa9"})
    EXPECT_EQ(kept_id_line(with_id(id)), "") << id;
  EXPECT_EQ(kept_id_line(with_id(std::string(129, 'x'))), "");
}

}  // namespace
}  // namespace foretoken
