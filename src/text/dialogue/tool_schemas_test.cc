#include "text/dialogue/tool_schemas.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace foretoken {
namespace {

// The letters of the types that the parameter "p" of this schema may have. `defs` stand beside it.
std::string types_of(const std::string& schema, const std::string& defs = "") {
  const auto tools = boost::json::parse(
      R"([{"type":"function","function":{"name":"f","parameters":{"properties":{"p":)" + schema +
      "}" + defs + "}}}]");
  const ParameterTypes types = ToolSchemas(tools.as_array()).types("f", "p");
  std::string out;
  if (types.string) out += 's';
  if (types.number) out += 'n';
  if (types.boolean) out += 'b';
  if (types.null) out += '0';
  if (types.object) out += 'o';
  if (types.array) out += 'a';
  EXPECT_EQ(types.is_known(), !out.empty());
  EXPECT_EQ(types.is_string_only(), out == "s");
  return out;
}

TEST(ToolSchemas, a_type_has_a_name_or_several) {
  EXPECT_EQ(types_of(R"({"type":"string"})"), "s");
  EXPECT_EQ(types_of(R"({"type":"integer"})"), "n");
  EXPECT_EQ(types_of(R"({"type":"number"})"), "n");
  EXPECT_EQ(types_of(R"({"type":"boolean"})"), "b");
  EXPECT_EQ(types_of(R"({"type":"null"})"), "0");
  EXPECT_EQ(types_of(R"({"type":"object"})"), "o");
  EXPECT_EQ(types_of(R"({"type":"array"})"), "a");
  EXPECT_EQ(types_of(R"({"type":["string","null",7]})"), "s0");
  for (const char* schema : {"{}", "true", "[]", R"({"type":"text"})", R"({"type":5})"})
    EXPECT_EQ(types_of(schema), "") << schema;
}

TEST(ToolSchemas, constants_and_alternatives_tell_types_too) {
  EXPECT_EQ(types_of(R"({"const":1.5})"), "n");
  EXPECT_EQ(types_of(R"({"enum":["a",1,true,null,{},[]]})"), "snb0oa");
  for (const std::string list : {"anyOf", "oneOf", "allOf"})
    EXPECT_EQ(types_of("{\"" + list + R"(":[{"type":"string"},{"const":false}]})"), "sb") << list;
  EXPECT_EQ(types_of(R"({"anyOf":{"type":"string"},"enum":"a"})"), "");
}

TEST(ToolSchemas, references_lead_to_definitions_of_the_tool) {
  const std::string defs = R"(,"$defs":{"A":{"type":"string"},"L":{"$ref":"#/$defs/L"}},)"
                           R"("definitions":{"B":{"type":"array"}})";
  EXPECT_EQ(types_of(R"({"$ref":"#/$defs/A"})", defs), "s");
  EXPECT_EQ(types_of(R"({"$ref":"#/definitions/B"})", defs), "a");
  for (const char* schema :
       {R"({"$ref":"#/$defs/L"})", R"({"$ref":"#/$defs/B"})", R"({"$ref":7})", R"({"$ref":"A"})"})
    EXPECT_EQ(types_of(schema, defs), "") << schema;
}

TEST(ToolSchemas, four_levels_are_looked_at) {
  const auto nested = [](int levels) {
    std::string schema = R"({"type":"string"})";
    for (int i = 1; i < levels; ++i) schema = R"({"anyOf":[)" + schema + "]}";
    return schema;
  };
  EXPECT_EQ(types_of(nested(4)), "s");
  EXPECT_EQ(types_of(nested(5)), "");
}

TEST(ToolSchemas, what_is_no_tool_or_no_parameter_has_no_type) {
  const auto tools = boost::json::parse(
      R"([{"function":{"name":"f"}},{"function":{"name":"g","parameters":{"properties":[]}}}])");
  const ToolSchemas schemas(tools.as_array());
  EXPECT_TRUE(schemas.has("f") && schemas.has("g"));
  EXPECT_FALSE(schemas.has("h"));
  for (const char* tool : {"f", "g", "h"}) EXPECT_FALSE(schemas.types(tool, "p").is_known());
}

TEST(ToolSchemas, a_value_is_read_as_its_types_say) {
  const ParameterTypes unknown, string{.string = true}, number{.number = true},
      either{.string = true, .number = true};
  EXPECT_EQ(json_of_value(" 5 ", unknown), "5");
  EXPECT_EQ(json_of_value(" 5 ", string), "\" 5 \"");
  EXPECT_EQ(json_of_value(" 5 ", number), "5");
  EXPECT_EQ(json_of_value(" 5 ", either), "5");
  EXPECT_EQ(json_of_value("True", unknown), "true");
  EXPECT_EQ(json_of_value("True", number), "true") << "no string is possible";
  EXPECT_EQ(json_of_value("True", either), "\"True\"");
  EXPECT_EQ(json_of_value("\"a\"", either), "\"a\"");
  EXPECT_EQ(json_of_value("a b", number), "\"a b\"");
}

}  // namespace
}  // namespace foretoken
