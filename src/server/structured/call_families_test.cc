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
           {"interns1",
            "<|action_start|> <|plugin|>\n{\"name\": \"f\", \"parameters\": @}<|action_end|>"},
           {"hunyuan_a13b", "<tool_calls>[{\"name\": \"f\", \"arguments\": @}]</tool_calls>"},
           {"cohere_command4",
            "<|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"g\", "
            "\"parameters\": {}},\n {\"tool_call_id\": \"1\", \"tool_name\": \"f\", "
            "\"parameters\": @}\n]<|END_ACTION|>"},
           {"apertus2509", "<|tools_prefix|>[{\"g\": {}}, {\"f\": @}]<|tools_suffix|>"},
           {"gigachat3", "<|function_call|>{\"name\": \"f\", \"arguments\": @}"},
           {"gigachat3",
            "Hm.<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"f\", \"arguments\": @}"},
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
            "</invoke>\n</minimax:tool_call>"},
           {"glm47",
            "<tool_call>f<arg_key>a</arg_key><arg_value>@</arg_value><arg_key>n</arg_key>"
            "<arg_value>#</arg_value><arg_key>t</arg_key><arg_value>q\"r</arg_value></tool_call>"},
           {"hunyuan",
            "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>@</arg_value>\n"
            "<arg_key>n</arg_key>\n<arg_value>#</arg_value>\n<arg_key>t</arg_key>\n"
            "<arg_value>q\"r</arg_value>\n</tool_call>\n</tool_calls>"},
           {"mimo",
            "<tool_call>\n<function=f>\n<parameter=a>@</parameter>\n<parameter=n>#</parameter>\n"
            "<parameter=t>q\"r</parameter>\n</function>\n</tool_call>"},
           {"deepseekv4",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
            "string=\"true\">@</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" "
            "string=\"false\">#"
            "</｜DSML｜parameter>\n<｜DSML｜parameter name=\"t\" string=\"true\">q\"r"
            "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"},
           {"kimi_k3",
            "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument "
            "key=\"a\" type=\"string\"<|sep|>@<|close|>argument<|sep|><|open|>argument key=\"n\" "
            "type=\"number\"<|sep|>#<|close|>argument<|sep|><|open|>argument key=\"t\" "
            "type=\"string\"<|sep|>q\"r<|close|>argument<|sep|><|close|>call<|sep|>"
            "<|close|>tools<|sep|>"},
           {"minimax-m3",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>@"
            "]<]minimax[>[</a>\n]<]minimax[>[<n>#]<]minimax[>[</n>]<]minimax[>[<t>q\"r"
            "]<]minimax[>[</t>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"},
           {"gemma4", "<|tool_call>call:f{a:<|\"|>@<|\"|>,n:#,t:<|\"|>q\"r<|\"|>}<tool_call|>"}}) {
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

// Lists and objects in the forms of the families that have their own.
constexpr const char* kNested =
    R"({"type":"object","properties":{"o":{"type":"object","properties":{"k":{"enum":["x","y"]},
        "m":{"type":"number"}},"required":["k"],"additionalProperties":false},
        "l":{"type":"array","items":{"type":"object","properties":{"b":{"type":"boolean"}},
        "required":["b"],"additionalProperties":false}},
        "u":{"type":["string","null"]},"p":{"type":"array","items":{"type":"integer"},"maxItems":2}},
        "required":["o"],"additionalProperties":false})";

TEST_F(CallConstraintTest, lists_and_objects_are_bound_in_the_forms_of_their_families) {
  const std::string ns = "]<]minimax[>[";
  const auto m3 = [&](std::string text) {
    for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += ns.size())
      text.replace(at, 1, ns);
    return text;
  };
  const auto said = [&](const std::string& text, bool is_strict) {
    wish(text);
    start();
    const auto calls = calls_of(chat(tools(is_strict, kNested)));
    stop();
    return calls;
  };
  const std::string m3_begin = "@<tool_call>\n@<invoke name=\"f\">",
                    m3_end = "@</invoke>\n@</tool_call>";
  config.tool_call_parser = "minimax-m3";
  EXPECT_EQ(said(m3(m3_begin +
                    "@<o>@<k>y@</k>\n@<m>1.5@</m>@</o>@<l>\n@<item>@<b>true@</b>@</item>\n"
                    "@<item>@<b>false@</b>@</item>@</l>@<u>w@</u>@<p>[1, 2]@</p>" +
                    m3_end),
                 true),
            R"(f({"o": {"k": "y", "m": 1.5}, "l": [{"b": true}, {"b": false}], "u": "w", )"
            R"("p": [1, 2]}))");
  EXPECT_GT(masks_, 15);
  EXPECT_EQ(said(m3(m3_begin + "@<o>@<k>zz@</k>"), true).find("zz"), std::string::npos);
  EXPECT_EQ(said(m3(m3_begin + "@<o>@<k>x@</k>@</o>@<p>[1, 2, 3]"), true).find("2, 3"),
            std::string::npos);
  config.tool_call_parser = "gemma4";
  EXPECT_EQ(said("<|tool_call>call:f{o:{k:<|\"|>y<|\"|>,m:1.5},l:[{b:true},{b:false}],"
                 "u:<|\"|>w<|\"|>,p:[1,2]}<tool_call|>",
                 false),
            R"(f({"o": {"k": "y", "m": 1.5}, "l": [{"b": true}, {"b": false}], "u": "w", )"
            R"("p": [1, 2]}))");
  EXPECT_GT(masks_, 15);
  EXPECT_EQ(said("<|tool_call>call:f{o:{k:<|\"|>zz<|\"|>}}<tool_call|>", false).find("zz"),
            std::string::npos);
  EXPECT_EQ(said("<|tool_call>call:f{o:{k:<|\"|>x<|\"|>},u:null}<tool_call|>", false),
            R"(f({"o": {"k": "x"}, "u": null}))");
  wish("Yes.");
  start();
  EXPECT_EQ(refusal(tools(true, kNested)),
            "the parameter 'p' of the strict tool 'f' cannot be held to \"maxItems\" in the format "
            "of gemma4");
}

// Values without a schema, and schemas that lead back to themselves.
TEST_F(CallConstraintTest, nested_forms_take_what_no_schema_describes) {
  constexpr const char* kTree =
      R"({"type":"object","properties":{"t":{"$ref":"#/$defs/t"}},"required":["t"],
          "$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},
          "t":{"$ref":"#/$defs/t"}},"additionalProperties":false}}})";
  const auto said = [&](const std::string& style, const std::string& text, const char* schema) {
    config.tool_call_parser = style;
    wish(text);
    start();
    const auto calls = calls_of(chat(tools(false, schema)));
    EXPECT_TRUE(is_bound_) << style << ": " << schema;
    stop();
    return calls;
  };
  const std::string begin = "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"f\">",
                    end = "]<]minimax[>[</invoke>]<]minimax[>[</tool_call>";
  EXPECT_EQ(
      said("minimax-m3",
           begin + "]<]minimax[>[<x>[1]]<]minimax[>[</x>\n]<]minimax[>[<y>z]<]minimax[>[</y>" + end,
           R"({"type":"object"})"),
      R"(f({"x": [1], "y": "z"}))");
  EXPECT_EQ(said("minimax-m3",
                 begin +
                     "]<]minimax[>[<t>]<]minimax[>[<v>1]<]minimax[>[</v>]<]minimax[>[<t>"
                     "]<]minimax[>[<v>2]<]minimax[>[</v>]<]minimax[>[</t>]<]minimax[>[</t>" +
                     end,
                 kTree),
            R"(f({"t": {"v": 1, "t": {"v": 2}}}))");
  EXPECT_EQ(said("gemma4", "<|tool_call>call:f{x:[1,<|\"|>a<|\"|>],y:{z:null}}<tool_call|>",
                 R"({"type":"object"})"),
            R"(f({"x": [1, "a"], "y": {"z": null}}))");
  EXPECT_EQ(said("gemma4", "<|tool_call>call:f{t:{v:1,t:{v:2}}}<tool_call|>", kTree),
            R"(f({"t": {"v": 1, "t": {"v": 2}}}))");
}

TEST_F(CallConstraintTest, types_beside_the_keys_are_bound_to_the_schema) {
  constexpr const char* kUnion =
      R"({"type":"object","properties":{"v":{"type":["string","integer","null"]}},
          "required":["v"],"additionalProperties":false})";
  const auto said = [&](const std::string& type, const std::string& value) {
    config.tool_call_parser = "kimi_k3";
    wish(
        "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument "
        "key=\"v\" type=\"" +
        type + "\"<|sep|>" + value +
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>");
    start();
    const auto calls = calls_of(chat(tools(false, kUnion)));
    stop();
    return calls;
  };
  EXPECT_EQ(said("string", "5"), R"(f({"v": "5"}))");
  EXPECT_EQ(said("number", "5"), R"(f({"v": 5}))");
  EXPECT_EQ(said("null", "null"), R"(f({"v": null}))");
  EXPECT_EQ(said("number", "\"5\"").find("\"5\""), std::string::npos);
  EXPECT_EQ(said("array", "[5]").find('['), std::string::npos);
}

TEST_F(CallConstraintTest, marks_around_an_answer_are_dropped_without_tools) {
  config.tool_call_parser = "cohere_command4";
  config.reasoning_parser = "cohere_command4";
  wish("Hm.<|END_THINKING|><|START_TEXT|>Hi.<|END_TEXT|>");
  start();
  const auto message = chat(R"("max_tokens":100)").at("message");
  EXPECT_EQ(message.at("content"), "Hi.");
  EXPECT_EQ(message.at("reasoning_content"), "Hm.");
}

TEST_F(CallConstraintTest, families_are_told_by_the_template_and_their_marks_by_the_vocabulary) {
  const ByteTokenizerFolder folder({.marks = {"<tool_calls:opensource>", "<think:opensource>"}});
  const Tokenizer with_suffix(folder.path());
  const ChatTemplate hunyuan("<think><tool_calls><tool_sep>{{ tools }}", {}),
      none("{{ tools }}", {});
  config.tool_call_parser = config.reasoning_parser = "auto";
  const ServerContext plain(config, engine, &tokenizer(), &hunyuan);
  EXPECT_EQ(plain.call_style, find_call_style("hunyuan"));
  EXPECT_EQ(plain.reasoning_style, find_reasoning_style("hunyuan"));
  const ServerContext suffixed(config, engine, &with_suffix, &hunyuan);
  EXPECT_EQ(suffixed.call_style->token, "<tool_calls:opensource>");
  EXPECT_EQ(suffixed.reasoning_style->open, "<think:opensource>");
  const ServerContext untold(config, engine, &tokenizer(), &none);
  EXPECT_EQ(untold.call_style, nullptr);
  EXPECT_EQ(untold.reasoning_style, nullptr);
  const ServerContext without(config, engine, &tokenizer(), nullptr);
  EXPECT_EQ(without.call_style, nullptr);
  EXPECT_EQ(without.reasoning_style, nullptr);
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
