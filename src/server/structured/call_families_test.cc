// The formats of calls: every family is bound in its own.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/call_fixture.h"

namespace foretoken {
namespace {

TEST_F(CallConstraintTest, every_family_with_arguments_in_json_is_bound_in_its_format) {
  const std::string good = R"({"a": "y", "n": 7})";
  for (const auto& [style, call] : std::vector<std::pair<std::string, std::string>>{
           {"hermes", "<tool_call>\n{\"arguments\": @, \"name\": \"f\"}\n</tool_call>"},
           {"qwen", "<tool_call>\n{\"name\": \"f\", \"arguments\": @}\n</tool_call>"},
           {"llama3", "<|python_tag|>{\"name\": \"f\", \"parameters\": @}"},
           {"llama3",
            "<|python_tag|>{\"name\": \"g\", \"parameters\": {}}; {\"name\": \"f\", "
            "\"parameters\": @}"},
           {"mistral", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": @, \"id\": \"abcdefghi\"}]"},
           {"mistral",
            "[TOOL_CALLS] [{\"name\": \"g\", \"arguments\": {}}, {\"name\": \"f\", "
            "\"arguments\": @}]"},
           {"mistral", "[TOOL_CALLS]f[ARGS]@"},
           {"mistral", "[TOOL_CALLS]f@"},
           {"mistral", "[TOOL_CALLS]g[CALL_ID]abcdefghi[ARGS]{}[TOOL_CALLS]f[ARGS]@"},
           {"deepseekv3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n"
            "```json\n@\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
           {"deepseekv31",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>@"
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
           {"kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
            "<|tool_call_argument_begin|>@<|tool_call_end|>"
            "<|tool_calls_section_end|>"}}) {
    config.tool_call_parser = style;
    const auto with = [&, call = call](const std::string& arguments) {
      std::string text = call;
      return text.replace(text.find('@'), 1, arguments);
    };
    wish(with(good));
    start();
    const auto calls = calls_of(chat(tools()));
    EXPECT_TRUE(calls.ends_with("f(" + good + ")")) << style << ": " << calls;
    EXPECT_GT(masks_, 15) << style;
    stop();
    wish(with(R"({"a": "zz", "n": 7})"));
    start();
    const auto bent = calls_of(chat(tools()));
    EXPECT_EQ(bent.find("zz"), std::string::npos) << style << ": " << bent;
    stop();
  }
}

// Values between marks: one of an enum, JSON, free text.
constexpr const char* kTagged =
    R"({"type":"object","properties":{"a":{"$ref":"#/$defs/word"},"n":{"type":"integer"},
        "t":{"type":"string"}},"required":["a"],"additionalProperties":false,
        "$defs":{"word":{"enum":["x","y"]}}})";

TEST_F(CallConstraintTest, families_that_write_parameters_between_marks_are_bound) {
  for (const auto& [style, call] : std::vector<std::pair<std::string, std::string>>{
           {"glm45",
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>@</arg_value>\n<arg_key>n</arg_key>\n"
            "<arg_value>#</arg_value>\n<arg_key>t</arg_key>\n<arg_value>q\"r</arg_value>\n"
            "</tool_call>"},
           {"qwen3_coder",
            "<tool_call>\n<function=f>\n<parameter=a>\n@\n</parameter>\n<parameter=n>\n#\n"
            "</parameter>\n<parameter=t>\nq\"r\n</parameter>\n</function>\n</tool_call>"},
           {"step3",
            "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke "
            "name=\"f\"><steptml:parameter name=\"a\">@</steptml:parameter><steptml:parameter "
            "name=\"n\">#</steptml:parameter><steptml:parameter name=\"t\">q\"r"
            "</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"},
           {"minimax-m2",
            "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">@</parameter>\n"
            "<parameter name=\"n\">#</parameter>\n<parameter name=\"t\">q\"r</parameter>\n"
            "</invoke>\n</minimax:tool_call>"}}) {
    config.tool_call_parser = style;
    const auto with = [&, call = call](const std::string& a, const std::string& n) {
      std::string text = call;
      text.replace(text.find('@'), 1, a);
      return text.replace(text.find('#'), 1, n);
    };
    wish(with("y", "7"));
    start();
    auto calls = calls_of(chat(tools(true, kTagged)));
    EXPECT_EQ(calls, R"(f({"a": "y", "n": 7, "t": "q\"r"}))") << style;
    EXPECT_GT(masks_, 15) << style;
    stop();
    wish(with("zz", "7"));
    start();
    calls = calls_of(chat(tools(true, kTagged)));
    EXPECT_EQ(calls.find("zz"), std::string::npos) << style << ": " << calls;
    EXPECT_EQ(calls.find("f({\"a\": "), 0U) << style << ": " << calls;
    stop();
    wish(with("x", "w"));
    start();
    calls = calls_of(chat(tools(true, kTagged)));
    EXPECT_EQ(calls.find("\"n\": w"), std::string::npos) << style << ": " << calls;
    EXPECT_EQ(calls.find("\"n\": \"w"), std::string::npos) << style << ": " << calls;
    stop();
  }
}

TEST_F(CallConstraintTest, parameters_that_no_schema_names_are_text) {
  config.tool_call_parser = "glm45";
  wish(
      "<tool_call>g\n<arg_key>b</arg_key>\n<arg_value>one</arg_value>\n<arg_key>c</arg_key>\n"
      "<arg_value>[2]</arg_value>\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools())), R"(g({"b": "one", "c": [2]}))");
  EXPECT_GT(masks_, 15);
}

TEST_F(CallConstraintTest, what_text_between_marks_cannot_be_held_to_is_refused_of_strict_tools) {
  config.tool_call_parser = "glm45";
  wish("Yes.");
  start();
  const std::string schema = R"({"properties":{"a":{"type":"string","pattern":"^x"}}})";
  EXPECT_EQ(refusal(tools(true, schema)),
            "the parameter 'a' of the strict tool 'f' cannot be held to \"pattern\" in the format "
            "of glm45");
  chat(tools(false, schema));
  EXPECT_TRUE(is_bound_);
}

TEST_F(CallConstraintTest, messages_to_functions_are_bound) {
  config.tool_call_parser = "gpt-oss";
  for (const char* header :
       {"<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.f json<|message|>",
        "<|channel|>analysis<|message|>to=functions.h it is<|end|><|start|>assistant "
        "to=functions.f<|channel|>commentary<|message|>"}) {
    const std::string text = header;
    wish(text + "{\"a\": \"y\", \"n\": 7}<|call|>");
    start();
    EXPECT_EQ(calls_of(chat(tools(true))), R"(f({"a": "y", "n": 7}))") << header;
    EXPECT_GT(masks_, 15) << header;
    stop();
    wish(text + "{\"a\": \"zz\"}<|call|>");
    start();
    EXPECT_EQ(calls_of(chat(tools(true))).find("zz"), std::string::npos) << header;
    stop();
  }
}

TEST_F(CallConstraintTest, calls_without_a_mark_are_bound_once_they_name_a_tool) {
  config.tool_call_parser = "llama3";
  for (const char* call :
       {R"({"name": "f", "parameters": @})", R"( {"parameters": @, "name": "f"})",
        R"({"name": "g", "parameters": {}}; {"name": "f", "parameters": @})"}) {
    const auto with = [&](const std::string& arguments) {
      std::string text = call;
      return text.replace(text.find('@'), 1, arguments);
    };
    wish(with(R"({"a": "y", "n": 7})"));
    start();
    auto calls = calls_of(chat(tools(true)));
    EXPECT_TRUE(calls.ends_with(R"(f({"a": "y", "n": 7}))")) << call << ": " << calls;
    EXPECT_GT(masks_, 10) << call;
    stop();
    wish(with(R"({"a": "zz", "n": 7})"));
    start();
    calls = calls_of(chat(tools()));
    EXPECT_EQ(calls.find("zz"), std::string::npos) << call << ": " << calls;
    EXPECT_NE(calls.find("f({\"a\": "), std::string::npos) << call << ": " << calls;
    stop();
  }
}

TEST_F(CallConstraintTest, calls_of_python_are_bound) {
  constexpr const char* kSchema =
      R"({"type":"object","properties":{"o":{"type":"boolean"},"a":{"enum":["x","y",1,null]},
          "n":{"type":"integer"},"t":{"type":"string"},"p":{"type":"string","pattern":"^q+$"},
          "l":{"type":"array","items":{"type":"string"}}},"required":["a","n"]})";
  const auto said = [&](const std::string& text) {
    wish(text);
    start();
    const auto calls = calls_of(chat(tools(true, kSchema)));
    stop();
    return calls;
  };
  for (const char* style : {"pythonic", "llama4"}) {
    config.tool_call_parser = style;
    EXPECT_EQ(said("[f(a='y', n=7)]"), R"(f({"a": "y", "n": 7}))");
    EXPECT_GT(masks_, 5);
    EXPECT_EQ(said("[f(o=True, a=None, n=-7, t='it\\'s, so', p=\"qq\", l=[\"a\", \"b\"])]"),
              R"(f({"o": true, "a": null, "n": -7, "t": "it's, so", "p": "qq", "l": ["a", "b"]}))");
    EXPECT_EQ(said("[f(a=1,n=2), g(), f(o=False,a=\"x\",n=3)]"),
              R"(f({"a": 1, "n": 2})g({})f({"o": false, "a": "x", "n": 3}))");
    EXPECT_TRUE(said("[f(a=\"zz\", n=7)]").starts_with(R"(f({"a": "x", "n": )")) << style;
    EXPECT_EQ(said("[f(a=\"x\", n=7, p=\"zz\")]").find("zz"), std::string::npos) << style;
    EXPECT_EQ(said("[f(a=\"x\", n=7, p='zz')]").find("zz"), std::string::npos) << style;
    EXPECT_EQ(said("[f(a=\"x\", n=\"8\")]").find('8'), std::string::npos) << style;
  }
  EXPECT_NE(said("<|python_start|>[f(a=\"zz\", n=7)]<|python_end|>").find("f({\"a\": "),
            std::string::npos);
  EXPECT_NE(said(R"({"name": "f", "parameters": {"a": "zz", "n": 7}})").find("f({\"a\": "),
            std::string::npos);
}

TEST_F(CallConstraintTest, tools_without_parameters_are_called_as_python_with_any) {
  config.tool_call_parser = "pythonic";
  wish("[f(b=1, c='two', d=[1]), f()]");
  start();
  EXPECT_EQ(calls_of(chat(tools(false, R"({"type":"object"})"))),
            R"(f({"b": 1, "c": "two", "d": [1]})f({}))");
}

TEST_F(CallConstraintTest, too_many_parameters_for_python_are_refused_of_strict_tools) {
  config.tool_call_parser = "pythonic";
  std::string properties;
  for (int i = 0; i < 40; ++i)
    properties += (i == 0 ? "" : ",") + ("\"p" + std::to_string(i)) + R"(":{"type":"integer"})";
  wish("Yes.");
  start();
  const std::string schema = R"({"properties":{)" + properties + "}}";
  EXPECT_EQ(refusal(tools(true, schema)),
            "the tool 'f' has too many parameters that may be left out");
  chat(tools(false, schema));
}

}  // namespace
}  // namespace foretoken
