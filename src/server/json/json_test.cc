#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

#include "server/json/json_fields.h"
#include "server/json/json_writer.h"

namespace foretoken {
namespace {

TEST(JsonWriterTest, commas_and_nesting) {
  JsonWriter json;
  json.begin_object().field("a", 1).key("b").begin_array().integer(2).null().end_array();
  json.key("c").begin_object().end_object().field("d", true).field("e", "x").end_object();
  EXPECT_EQ(json.take(), R"({"a":1,"b":[2,null],"c":{},"d":true,"e":"x"})");
}

TEST(JsonWriterTest, strings_read_back_and_broken_bytes_become_replacements) {
  std::string text;
  for (int c = 0; c < 128; ++c) text.push_back(static_cast<char>(c));
  text += "\xC3\xA9\xF0\x9F\x98\x80";
  JsonWriter json;
  json.string(text);
  EXPECT_EQ(boost::json::parse(json.text()).as_string(), text);
  JsonWriter broken;
  broken.string("a\xFF\xE2\x82z");
  EXPECT_EQ(boost::json::parse(broken.text()).as_string(), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST(JsonWriterTest, numbers_are_short_and_exact) {
  JsonWriter json;
  json.begin_array().number(-0.1F).number(0.1).number(std::nanf("")).end_array();
  EXPECT_EQ(json.take(), "[-0.1,0.1,null]");
  JsonWriter infinite;
  infinite.number(std::numeric_limits<double>::infinity());
  EXPECT_EQ(infinite.take(), "null");
}

TEST(FieldsTest, bodies_that_are_no_objects_are_refused) {
  EXPECT_EQ(parse_json_object(" \n").refusal().message,
            "the request body is empty: expected a JSON object");
  EXPECT_EQ(parse_json_object("[]").refusal().message,
            "body: Input should be a valid dictionary (found list)");
  EXPECT_TRUE(parse_json_object("{\"a\": nul}").refusal().message.starts_with("malformed JSON"));
  EXPECT_TRUE(parse_json_object("{\"a\": 1} {}").refusal().message.starts_with("malformed JSON"));
  EXPECT_FALSE(parse_json_object("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"));
  EXPECT_TRUE(parse_json_object("{\"a\":" + std::string(60, '[') + std::string(60, ']') + "}"));
}

TEST(FieldsTest, readers_check_types_and_record_the_first_fault) {
  const auto object = *parse_json_object(
      R"({"i":3.0,"f":2,"b":1,"s":"x","l":["a"],"t":[1,2],"n":null,"big":18446744073709551615})");
  std::optional<Refusal> fault;
  Fields fields(object, "body", fault);
  EXPECT_EQ(fields.integer("i"), 3);
  EXPECT_EQ(fields.number("f"), 2.0);
  EXPECT_EQ(fields.boolean("b"), true);
  EXPECT_EQ(fields.string("s"), "x");
  EXPECT_EQ(fields.strings("s"), std::vector<std::string>{"x"});
  EXPECT_EQ(fields.strings("l"), std::vector<std::string>{"a"});
  EXPECT_EQ(fields.tokens("t"), (std::vector<Token>{1, 2}));
  EXPECT_EQ(fields.seed("big"), ~std::uint64_t{0});
  EXPECT_FALSE(fields.has("n"));
  EXPECT_FALSE(fields.integer("missing"));
  EXPECT_TRUE(fields.ok());
  EXPECT_FALSE(fields.integer("s"));
  EXPECT_FALSE(fields.string("i"));
  EXPECT_EQ(fault->message, "body.s: Input should be a valid integer (found string)");
}

TEST(FieldsTest, zero_is_false_and_the_first_refusal_stays) {
  const auto object = *parse_json_object(R"({"zero":0,"one":1,"two":2})");
  std::optional<Refusal> fault;
  Fields fields(object, "body", fault);
  EXPECT_EQ(fields.boolean("zero"), false);
  EXPECT_EQ(fields.boolean("one"), true);
  EXPECT_TRUE(fields.ok());
  fields.refuse("first", 413);
  fields.refuse("second");
  fields.boolean("two");
  EXPECT_EQ(fault->message, "first");
  EXPECT_EQ(fault->status, 413);
}

TEST(FieldsTest, unsupported_fields_are_refused_unless_empty) {
  const auto object = *parse_json_object(R"({"a":null,"b":[],"c":false,"d":0,"e":"","f":{"x":1}})");
  std::optional<Refusal> fault;
  Fields fields(object, "body", fault);
  fields.refuse_unsupported({"a", "b", "c", "d", "e", "g"}, "reason");
  EXPECT_TRUE(fields.ok());
  fields.refuse_unsupported({"f"}, "reason");
  EXPECT_EQ(fault->message, "f is not supported: reason");
}

TEST(FieldsTest, floats_are_shown_as_python_shows_them) {
  EXPECT_EQ(python_float(2.0), "2.0");
  EXPECT_EQ(python_float(-0.5), "-0.5");
  EXPECT_EQ(python_float(1e22), "1e+22");
  EXPECT_EQ(python_float(std::numeric_limits<double>::infinity()), "inf");
}

TEST(JsonBody, half_characters_become_the_replacement_character) {
  const auto text_of = [](const std::string& text) {
    const auto body = parse_json_object(R"({"a":")" + text + "\"}");
    return body ? std::string(body->at("a").as_string()) : body.refusal().message;
  };
  EXPECT_EQ(text_of(R"(\ud83d)"), "\uFFFD");
  EXPECT_EQ(text_of(R"(x\ude00y)"), "x\uFFFDy");
  EXPECT_EQ(text_of(R"(\ud83d\ud83d\ude00\ud83dz)"), "\uFFFD\U0001F600\uFFFDz");
  EXPECT_EQ(text_of(R"(\ud83d\n\\ud83d\"\uD83D)"), "\uFFFD\n\\ud83d\"\uFFFD");
  EXPECT_EQ(text_of(R"(\ud83)").substr(0, 14), "malformed JSON");
}

}  // namespace
}  // namespace foretoken
