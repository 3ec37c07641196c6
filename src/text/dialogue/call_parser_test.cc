#include "text/dialogue/call_parser.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "text/testing/dialogue_kit.h"

namespace foretoken {
namespace {

using Calls = std::vector<std::pair<std::string, std::string>>;

class CallParserTest : public testing::Test {
 protected:
  CallParserTest() { set_log_level(LogLevel::kOff); }
  ~CallParserTest() override { set_log_level(LogLevel::kInfo); }

  ReadAnswer read(std::string_view style, const std::string& text, bool whole_calls = false,
                  Ending ending = Ending::kComplete) const {
    Dialogue dialogue;
    dialogue.calls = find_call_style(style);
    dialogue.call_options = {.tools = tools, .whole_calls = whole_calls, .one_call = one_call};
    const ReadAnswer whole = read_answer(dialogue, {text}, ending);
    EXPECT_EQ(read_answer(dialogue, pieces_of(text, 1), ending), whole) << text;
    return whole;
  }

  std::shared_ptr<const ToolSchemas> tools = tools_named({{"f", ""}, {"g", ""}});
  bool one_call = false;
};

TEST_F(CallParserTest, text_stands_before_between_and_behind_calls) {
  const auto out =
      read("hermes",
           "Before \n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>\n "
           "between\n\n<tool_call>\n{\"name\":\"g\"}\n</tool_call>\nbehind\n");
  EXPECT_EQ(out.content, "Beforebetweenbehind\n");
  EXPECT_EQ(out.calls, (Calls{{"f", "{\"a\": 1}"}, {"g", "{}"}}));
}

TEST_F(CallParserTest, an_answer_without_calls_is_the_same_text) {
  for (const auto style : call_style_names())
    for (const std::string text :
         {"", " ", "\n\nHello\n", "a < b <tool", "[1] see", "[see](url), [x]", "{\"a\": [1, 2]}",
          "[TOOL", "  {", "[f]", "{}", "[]", "f(a=1)"})
      EXPECT_EQ(read(style, text), (ReadAnswer{.reasoning = {}, .content = text}))
          << style << ": " << text;
}

TEST_F(CallParserTest, bare_calls_are_read_where_an_answer_begins) {
  EXPECT_EQ(read("llama3", "{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}").calls,
            (Calls{{"f", "{\"a\": \"x\"}"}}));
  EXPECT_EQ(read("llama3", "{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}").calls,
            (Calls{{"f", "{}"}}));
  EXPECT_EQ(read("llama3", "See {\"name\": \"f\", \"parameters\": {}}").calls, Calls{});
  EXPECT_EQ(read("llama4", "[f(a=[1, 2], b='it\\'s'), g()]").calls,
            (Calls{{"f", "{\"a\": [1, 2], \"b\": \"it's\"}"}, {"g", "{}"}}));
  EXPECT_EQ(read("llama4", "{\"name\": \"f\", \"parameters\": {}}").calls, (Calls{{"f", "{}"}}));
  const auto out = read("pythonic", " [f(x=True, y=None, z={'k': (1,)})] Done.");
  EXPECT_EQ(out.calls, (Calls{{"f", "{\"x\": true, \"y\": null, \"z\": {\"k\": [1]}}"}}));
  EXPECT_EQ(out.content, "Done.");
}

TEST_F(CallParserTest, calls_in_python_are_found_anywhere) {
  const auto check = [&](const std::string& text, const Calls& calls, const std::string& content) {
    for (const char* style : {"pythonic", "llama4"})
      for (const bool whole : {false, true}) {
        const auto out = read(style, text, whole);
        EXPECT_EQ(out.calls, calls) << style << ": " << text;
        EXPECT_EQ(out.content, content) << style << ": " << text;
      }
  };
  const Calls f{{"f", "{\"x\": 1}"}}, both{{"f", "{\"x\": 1}"}, {"g", "{}"}};
  check("Sure: [f(x=1)]", f, "Sure:");
  check("See [1], [f] and `[ f(x=1),\n g() ]", both, "See [1], [f] and `");
  check("Look:\n```python\n[f(x=1), g()]\n```\nDone.", both, "Look:Done.");
  check("```\n[f(x=1)]\n```", f, "");
  check("```tool_code\n[f(x=1)]", f, "");
  check("<|python_start|>[f(x=1)]<|python_end|>", f, "");
  check("Then <|python_start|>[f(x=1), g()]<|python_end|> and so on", both, "Thenand so on");
  check("[f(x=1)] and then [g()]", both, "and then");
  for (const std::string text : {"[fx(1)] or [h(x=1)]", "```python\nprint([1])\n```", "``` [f",
                                 "```python [h(x=1)", "a[0] = f(x=1)", "[f (x=1)]", "``", "<|pyth"})
    check(text, {}, text);
}

TEST_F(CallParserTest, a_malformed_call_of_a_whole_answer_is_text) {
  for (const std::string text :
       {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1,}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
        "<tool_call>{\"name\": 5, \"arguments\": {}}</tool_call>",
        "<tool_call>{\"arguments\": {}}</tool_call>", "<tool_call>f</tool_call>",
        "<tool_call>{\"name\": \"f\", \"name\": \"g\"}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\"\"}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ", "<tool_call>",
        "Is <tool_call> a mark?"}) {
    const auto out = read("hermes", text, true);
    EXPECT_TRUE(out.calls.empty()) << text;
    EXPECT_EQ(out.content, text);
  }
}

TEST_F(CallParserTest, in_a_stream_what_was_sent_of_a_malformed_call_stays) {
  const auto out =
      read("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1,}}</tool_call> Well.");
  EXPECT_EQ(out.calls, (Calls{{"f", "{\"a\": 1,"}}));
  EXPECT_EQ(out.content, "}}</tool_call> Well.");
  const auto behind_text = read(
      "hermes", "So: \n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1,}}</tool_call> Well.");
  EXPECT_EQ(behind_text.calls, out.calls);
  EXPECT_EQ(behind_text.content, "So:}}</tool_call> Well.");
}

TEST_F(CallParserTest, calls_follow_a_malformed_one) {
  const auto out = read("hermes",
                        "<tool_call>{\"name\": \"x\"}</tool_call>\n"
                        "<tool_call>{\"name\": \"f\"}</tool_call>");
  EXPECT_EQ(out.calls, (Calls{{"f", "{}"}}));
  EXPECT_EQ(out.content, "<tool_call>{\"name\": \"x\"}</tool_call>");
}

TEST_F(CallParserTest, arguments_may_come_as_text) {
  EXPECT_EQ(
      read("hermes", R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)").calls,
      (Calls{{"f", "{\"a\": 1}"}}));
  EXPECT_EQ(read("hermes", R"(<tool_call>{"name": "f", "arguments": null})").calls,
            (Calls{{"f", "{}"}}));
}

TEST_F(CallParserTest, ids_are_those_of_the_format) {
  EXPECT_EQ(read("kimi_k2",
                 "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:3"
                 "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>")
                .ids,
            std::vector<std::string>{"functions.f:3"});
  EXPECT_EQ(read("mistral", "[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]{}").ids,
            std::vector<std::string>{"abc123def"});
}

TEST_F(CallParserTest, mistrals_forms_are_all_read) {
  for (const std::string text :
       {"[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{}},{\"name\":\"g\",\"arguments\":{}}]",
        "[TOOL_CALLS]f{}[TOOL_CALLS]g{}", "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{}"})
    EXPECT_EQ(
        read("mistral", text),
        (ReadAnswer{
            .reasoning = {}, .content = {}, .calls = {{"f", "{}"}, {"g", "{}"}}, .ids = {"", ""}}))
        << text;
}

TEST_F(CallParserTest, values_take_the_types_of_their_parameters) {
  tools = tools_named({{"f", R"({"s":{"type":"string"},"n":{"type":"number"},
      "b":{"type":"boolean"},"o":{"type":"object"},"sn":{"type":["string","integer"]},
      "ns":{"anyOf":[{"type":"string"},{"type":"null"}]}})"}});
  const auto value = [&](const std::string& key, const std::string& written) {
    const auto out = read("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=" + key + ">\n" +
                                             written + "\n</parameter>\n</function>\n</tool_call>");
    EXPECT_EQ(out.calls.size(), 1U);
    return out.calls.at(0).second.substr(key.size() + 5);
  };
  EXPECT_EQ(value("s", "5"), "\"5\"}");
  EXPECT_EQ(value("s", "a \"b\"\n\n c"), "\"a \\\"b\\\"\\n\\n c\"}");
  EXPECT_EQ(value("s", ""), "\"\"}");
  EXPECT_EQ(value("n", "5"), "5}");
  EXPECT_EQ(value("n", "many"), "\"many\"}");
  EXPECT_EQ(value("b", "True"), "true}");
  EXPECT_EQ(value("o", "{'a': None}"), "{\"a\": null}}");
  EXPECT_EQ(value("sn", "7"), "7}");
  EXPECT_EQ(value("sn", "x"), "\"x\"}");
  EXPECT_EQ(value("sn", "true"), "\"true\"}");
  EXPECT_EQ(value("ns", "null"), "null}");
  EXPECT_EQ(value("ns", "7"), "\"7\"}");
  EXPECT_EQ(value("unknown", "[1]"), "[1]}");
  EXPECT_EQ(value("unknown", "a"), "\"a\"}");
}

TEST_F(CallParserTest, the_answer_is_over_behind_the_only_call) {
  one_call = true;
  for (const bool whole : {false, true}) {
    const auto out =
        read("hermes", "<tool_call>{\"name\":\"f\"}</tool_call><tool_call>{\"name\":\"g\"}", whole);
    EXPECT_EQ(out.calls, (Calls{{"f", "{}"}}));
    EXPECT_EQ(out.content, "");
  }
}

TEST_F(CallParserTest, calls_are_bounded_in_size_and_number) {
  const std::string huge(kMaxCallBytes, 'x');
  const auto large = read_answer(
      {.calls = find_call_style("hermes"), .call_options = {.tools = tools, .whole_calls = true}},
      pieces_of("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"" + huge + "\"}}", 4096));
  EXPECT_TRUE(large.calls.empty());
  EXPECT_GT(large.content.size(), huge.size());
  std::string many;
  for (int i = 0; i < kMaxCalls + 2; ++i) many += "<tool_call>{\"name\":\"f\"}</tool_call>";
  const auto out = read("hermes", many);
  EXPECT_EQ(out.calls.size(), static_cast<std::size_t>(kMaxCalls));
  EXPECT_EQ(out.content,
            "<tool_call>{\"name\":\"f\"}</tool_call><tool_call>{\"name\":\"f\"}</tool_call>");
}

TEST_F(CallParserTest, channels_that_are_no_calls_are_text) {
  EXPECT_EQ(read("gpt-oss", "Just text.").content, "Just text.");
  EXPECT_EQ(read("gpt-oss", "<|channel|>final<|message|>Hi<|return|>").content, "Hi");
  const auto broken =
      read("gpt-oss", "<|channel|>commentary to=functions.f<|message|>{\"a\" 1}<|call|>", true);
  EXPECT_TRUE(broken.calls.empty());
  EXPECT_EQ(broken.content, "<|channel|>commentary to=functions.f<|message|>{\"a\" 1}");
}

TEST(ThinkParserTest, reasoning_is_told_by_the_prompt_and_the_style) {
  const auto& r1 = *find_reasoning_style("deepseek-r1");
  const auto& qwen = *find_reasoning_style("qwen3");
  EXPECT_TRUE(begins_inside(r1, "<|A|>", "", true));
  EXPECT_FALSE(begins_inside(r1, "<|A|>", "", false));
  EXPECT_FALSE(begins_inside(r1, "<|A|><think>\n\n</think>\n\n", "", true));
  EXPECT_FALSE(begins_inside(qwen, "<|A|>", "", true));
  EXPECT_TRUE(begins_inside(qwen, "<|A|><think>\n", "", true));
  EXPECT_TRUE(begins_inside(qwen, "<|A|><think>a", "<think>a", true));
  EXPECT_FALSE(begins_inside(qwen, "<|A|><think>a</think>b", "<think>a</think>b", true));
  EXPECT_FALSE(begins_inside(r1, "<|A|>b", "b", true));
}

TEST(ThinkParserTest, reasoning_ends_at_its_mark_or_where_a_call_begins) {
  const auto read = [](const std::string& text, bool inside) {
    Dialogue dialogue;
    dialogue.reasoning = find_reasoning_style("qwen3");
    dialogue.begins_inside = inside;
    dialogue.calls = find_call_style("qwen25");
    dialogue.call_options.tools = tools_named({{"f", ""}});
    const auto whole = read_answer(dialogue, {text});
    EXPECT_EQ(read_answer(dialogue, pieces_of(text, 1)), whole);
    return whole;
  };
  EXPECT_EQ(read("<think>a</think>b", false),
            (ReadAnswer{.reasoning = "a", .content = "b", .calls = {}, .ids = {}}));
  EXPECT_EQ(read("a</think>b</think>", true),
            (ReadAnswer{.reasoning = "a", .content = "b</think>", .calls = {}, .ids = {}}));
  EXPECT_EQ(read("b<think>a</think>", false).content, "b<think>a</think>");
  EXPECT_EQ(read("never ends </thi", true).reasoning, "never ends </thi");
  EXPECT_EQ(read("<think>\n\n</think>\n\nb", false),
            (ReadAnswer{.reasoning = {}, .content = "b", .calls = {}, .ids = {}}));
  const auto interrupted = read("<think>a\n<tool_call>{\"name\":\"f\"}</tool_call>", false);
  EXPECT_EQ(interrupted.reasoning, "a");
  EXPECT_EQ(interrupted.calls, (Calls{{"f", "{}"}}));
  EXPECT_EQ(read("<thi", false).content, "<thi");
}

TEST(ThinkParserTest, the_bytes_of_the_reasoning_are_known) {
  Dialogue dialogue;
  dialogue.reasoning = find_reasoning_style("qwen3");
  const auto parser = make_answer_parser(dialogue);
  AnswerParts parts;
  for (const auto piece : pieces_of("<think>abc</think>def", 1)) parser->push(piece, parts);
  EXPECT_TRUE(parts.is_reasoning(0));
  EXPECT_TRUE(parts.is_reasoning(17));
  EXPECT_FALSE(parts.is_reasoning(18));
}

}  // namespace
}  // namespace foretoken
