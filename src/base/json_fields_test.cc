#include "base/file_fields.h"
#include "base/json_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

// The message of the Error that reading throws.
template <typename Read>
std::string fault_of(Read read) {
  try {
    read();
  } catch (const Error& error) {
    return error.what();
  }
  return "no fault";
}

TEST(JsonTextTest, one_value_of_bounded_depth_and_nothing_behind_it) {
  JsonFault fault;
  EXPECT_TRUE(parse_json("[1, {\"a\": null}]", fault));
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parse_json(deep, fault));
  EXPECT_FALSE(parse_json("[" + deep + "]", fault));
  EXPECT_FALSE(parse_json("{} {}", fault));
  EXPECT_FALSE(parse_json("\"\xFF\"", fault));
  EXPECT_FALSE(parse_json("", fault));
  EXPECT_FALSE(parse_json("[1, nul]", fault));
  EXPECT_GE(fault.byte, 4U);
}

TEST(JsonTextTest, texts_of_files_name_the_file) {
  EXPECT_TRUE(fault_of([] {
                read_json_object("[]", "c.json");
              }).find("wrong JSON (c.json): expected an object, found list") == 0);
  EXPECT_TRUE(fault_of([] { read_json_object("{", "c.json"); }).find("not valid JSON (c.json)") ==
              0);
}

TEST(FileFieldsTest, right_types_are_read_and_null_is_absent) {
  const auto object = read_json_object(
      R"({"b":true,"i":4096.0,"f":0.5,"s":"x","is":[1,2],"one":7,"fs":[1,2.5],"ss":["a"],"n":null})",
      "c.json");
  const FileFields fields(object, "c.json");
  EXPECT_EQ(fields.boolean("b"), true);
  EXPECT_EQ(fields.integer("i"), 4096);
  EXPECT_EQ(fields.number("f"), 0.5);
  EXPECT_EQ(fields.number("one"), 7.0);
  EXPECT_EQ(fields.string("s"), "x");
  EXPECT_EQ(fields.integers("is"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(fields.integers("one"), std::vector<std::int64_t>{7});
  EXPECT_TRUE(fields.integers("n").empty());
  EXPECT_EQ(fields.numbers("fs"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(fields.strings("ss"), std::vector<std::string>{"a"});
  EXPECT_FALSE(fields.integer("n"));
  EXPECT_TRUE(fields.has_null("n"));
  EXPECT_FALSE(fields.has_null("missing"));
  EXPECT_EQ(fields.required_integer("one"), 7);
}

TEST(FileFieldsTest, faults_name_file_key_expected_and_found) {
  const auto object = read_json_object(
      R"({"i":1.5,"big":9007199254740993.0,"inf":1e999,"u":18446744073709551615,"l":[1,"x"],"b":1})",
      "c.json");
  const FileFields fields(object, "c.json");
  EXPECT_EQ(fault_of([&] { fields.integer("i", {0, 5}); }),
            "bad value of \"i\" (c.json): expected an integer in [0, 5], found 1.5E0");
  EXPECT_NE(fault_of([&] { fields.integer("big", kAnyInteger); }), "no fault");
  EXPECT_NE(fault_of([&] { fields.integer("u", kAnyInteger); }), "no fault");
  EXPECT_NE(fault_of([&] { fields.number("inf"); }), "no fault");
  EXPECT_EQ(fault_of([&] { fields.strings("l"); }),
            "bad value of \"l\" (c.json): expected a list of strings, found [1,\"x\"]");
  EXPECT_NE(fault_of([&] { fields.integers("l"); }), "no fault");
  EXPECT_NE(fault_of([&] { fields.integers("i"); }), "no fault");
  EXPECT_NE(fault_of([&] { fields.boolean("b"); }), "no fault");
  EXPECT_NE(fault_of([&] { fields.object("l"); }), "no fault");
  EXPECT_NE(fault_of([&] { fields.array("i"); }), "no fault");
  EXPECT_EQ(fault_of([&] { fields.required_number("none"); }), "missing key \"none\" (c.json)");
}

}  // namespace
}  // namespace foretoken
