#include "server/http/http_text.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(HttpText, both_digits_of_a_percent_code_are_hexadecimal) {
  EXPECT_EQ(percent_decode("%41%4a%4F%af%FA%09"), "AJO\xAF\xFA\t");
  for (const char* text : {"%4g", "%g4", "%4G", "%G4", "%4/", "%4:", "%4@", "%4`", "%/4", "%:4"})
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
}

TEST(HttpText, a_percent_code_is_whole_and_no_zero) {
  EXPECT_EQ(percent_decode("a%20"), "a ");
  for (const char* text : {"%", "a%", "%4", "a%4", "%00", "%000"})
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
}

TEST(HttpText, a_plus_is_a_space_in_a_query_alone) {
  EXPECT_EQ(percent_decode("a+b%2Bc"), "a+b+c");
  EXPECT_EQ(percent_decode_query("a+b%2Bc"), "a b+c");
}

TEST(HttpText, a_target_is_a_path_and_a_query) {
  const auto parts = [](std::string_view target) {
    HttpRequest request;
    return parse_target(target, request) ? request.path + " " + request.query : "refused";
  };
  EXPECT_EQ(parts("/a%20b?c=%20&d#e"), "/a b c=%20&d");
  EXPECT_EQ(parts("/a"), "/a ");
  EXPECT_EQ(parts("/a#b?c"), "/a ");
  EXPECT_EQ(parts("http://host:1/a?b"), "/a b");
  EXPECT_EQ(parts("http://host"), "/ ");
  EXPECT_EQ(parts("/a?b=http://c/d"), "/a b=http://c/d");
  EXPECT_EQ(parts("*"), "* ");
  for (const char* target : {"", "a", "**", "/%4"}) EXPECT_EQ(parts(target), "refused") << target;
}

TEST(HttpText, a_value_of_a_query_is_found_by_its_whole_name) {
  HttpRequest request;
  request.query = "ab=1&a=x+%41&a=2&b&c=";
  EXPECT_EQ(request.query_value("a"), "x A");
  EXPECT_EQ(request.query_value("ab"), "1");
  for (const char* name : {"b", "c", "d", ""}) EXPECT_EQ(request.query_value(name), "") << name;
}

}  // namespace
}  // namespace foretoken
