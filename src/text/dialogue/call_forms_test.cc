// Forms of calls and of frames that single families have, with the samples of their makers: what
// the table of dialogue_test.cc does not tell.

#include <gtest/gtest.h>

#include "base/log.h"
#include "text/testing/dialogue_kit.h"

namespace foretoken {
namespace {

using Calls = std::vector<std::pair<std::string, std::string>>;

class CallFormsTest : public testing::Test {
 protected:
  CallFormsTest() { set_log_level(LogLevel::kOff); }
  ~CallFormsTest() override { set_log_level(LogLevel::kInfo); }

  static ReadAnswer read_with(Dialogue dialogue, const std::string& text,
                              Ending ending = Ending::kComplete) {
    const ReadAnswer whole = read_answer(dialogue, {text}, ending);
    for (std::size_t size = 1; size < 4; ++size)
      EXPECT_EQ(read_answer(dialogue, pieces_of(text, size), ending), whole) << text;
    return whole;
  }
  ReadAnswer read(std::string_view calls, const std::string& text) const {
    return read_with(
        {.calls = find_call_style(calls), .call_options = {.tools = tools, .whole_calls = whole}},
        text);
  }
  // Of both kinds of answers, which hold the same calls here.
  Calls calls_of(std::string_view style, const std::string& text) {
    whole = false;
    const Calls calls = read(style, text).calls;
    whole = true;
    EXPECT_EQ(read(style, text).calls, calls) << text;
    return calls;
  }
  ReadAnswer thought(std::string_view style, const std::string& text, bool inside,
                     std::string_view calls = {}) const {
    return read_with({.reasoning = find_reasoning_style(style),
                      .begins_inside = inside,
                      .calls = find_call_style(calls),
                      .call_options = {.tools = tools}},
                     text);
  }

  std::shared_ptr<const ToolSchemas> tools =
      tools_named({{"f", R"({"s":{"type":"string"},"n":{"type":"integer"},
            "o":{"type":"object","properties":{"id":{"type":"string"},
                 "tags":{"type":"array","items":{"type":"string"}}}},
            "l":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},
                 "count":{"type":"integer"}}}}})"},
                   {"g", ""}});
  bool whole = false;
};

TEST_F(CallFormsTest, dsml_says_which_values_are_strings) {
  const std::string invoke = "<｜DSML｜invoke name=\"f\">\n";
  const auto in_section = [](const std::string& inside) {
    return "<｜DSML｜tool_calls>\n" + inside + "\n</｜DSML｜tool_calls>";
  };
  EXPECT_EQ(
      calls_of("deepseekv4",
               in_section(invoke +
                          "<｜DSML｜parameter name=\"s\" string=\"true\">5</｜DSML｜parameter>\n"
                          "<｜DSML｜parameter name=\"x\" string=\"false\">5</｜DSML｜parameter>\n"
                          "<｜DSML｜parameter name=\"y\" string=\"true\">null"
                          "</｜DSML｜parameter>\n</｜DSML｜invoke>")),
      (Calls{{"f", R"({"s": "5", "x": 5, "y": "null"})"}}));
  // One object in place of the parameters, and calls without any.
  EXPECT_EQ(
      calls_of("deepseekv4",
               in_section(invoke + "{\"s\": \"a}\", \"n\": 1}\n</｜DSML｜invoke>\n"
                                   "<｜DSML｜invoke name=\"g\"/>\n<｜DSML｜invoke name=\"g\">\n"
                                   "</｜DSML｜invoke>")),
      (Calls{{"f", R"({"s": "a}", "n": 1})"}, {"g", "{}"}, {"g", "{}"}}));
  // Without a section.
  const auto bare = read("deepseekv32", "So:\n\n<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>");
  EXPECT_EQ(bare.calls, (Calls{{"g", "{}"}}));
  EXPECT_EQ(bare.content, "So:");
  // No JSON, no end.
  whole = true;
  for (const std::string& inside : {invoke + "{\"s\": }\n</｜DSML｜invoke>", invoke + "free text",
                                    invoke + "{} {}\n</｜DSML｜invoke>"}) {
    EXPECT_TRUE(read("deepseekv4", in_section(inside)).calls.empty()) << inside;
    EXPECT_EQ(read("deepseekv4", in_section(inside)).content, in_section(inside));
  }
}

TEST_F(CallFormsTest, kimi_k3_tells_types_and_escapes_names) {
  const auto call = [](const std::string& arguments) {
    return "<|open|>response<|sep|>Hm.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call "
           "tool=\"f\" index=\"1\"<|sep|>" +
           arguments + "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>";
  };
  const std::string text = call(
      "<|open|>argument key=\"a &amp; &quot;b\" type=\"string\"<|sep|>print(1)"
      "<|close|>argument<|sep|><|open|>argument key=\"opts\" type=\"object\"<|sep|>{\"a\":1}"
      "<|close|>argument<|sep|>");
  EXPECT_EQ(calls_of("kimi_k3", text),
            (Calls{{"f", R"j({"a & \"b": "print(1)", "opts": {"a":1}})j"}}));
  EXPECT_EQ(read("kimi_k3", text).content, "Hm.");
  // Marks of the frame inside of a call are of its text.
  EXPECT_EQ(calls_of("kimi_k3", call("<|open|>argument key=\"s\" type=\"string\"<|sep|>"
                                     "<|close|>response<|sep|><|close|>argument<|sep|>")),
            (Calls{{"f", R"({"s": "<|close|>response<|sep|>"})"}}));
}

TEST_F(CallFormsTest, frames_are_dropped_without_calls_or_tools) {
  const std::string text = "<|START_TEXT|>Hello <|START\n<|END_TEXT|>";
  const CallStyle* cohere = find_call_style("cohere_command4");
  EXPECT_EQ(read_with({.family = cohere, .call_options = {}}, text).content, "Hello <|START\n");
  EXPECT_EQ(thought("cohere_command4", "Hm.<|END_THINKING|>" + text, true),
            (ReadAnswer{.reasoning = "Hm.", .content = "Hello <|START\n"}));
  EXPECT_EQ(thought("cohere_command4", "Hm." + text, true).content, "Hello <|START\n");
  EXPECT_EQ(
      read_with({.family = cohere, .call_options = {}}, "Hello<|END_TE", Ending::kCut).content,
      "Hello");
  EXPECT_EQ(read_with({}, text).content, text);
  EXPECT_EQ(thought("hunyuan_a13b", "<think>\nHm.\n</think>\n<answer>\nYes.\n</answer>", false),
            (ReadAnswer{.reasoning = "Hm.", .content = "Yes."}));
}

TEST_F(CallFormsTest, elements_nest_as_the_schema_says) {
  const std::string ns = "]<]minimax[>[";
  const auto element = [&](const std::string& key, const std::string& inside) {
    return ns + "<" + key + ">" + inside + ns + "</" + key + ">";
  };
  const auto call = [&](const std::string& inside) {
    return ns + "<tool_call>\n" + ns + "<invoke name=\"f\">\n" + inside + "\n" + ns +
           "</invoke>\n" + ns + "</tool_call>";
  };
  // vLLM's sample, with the types of its schema.
  EXPECT_EQ(
      calls_of(
          "minimax-m3",
          call(element("n", "42") + "\n" +
               element("l", "\n" + element("item", element("sku", "001") + element("count", "2")) +
                                "\n"))),
      (Calls{{"f", R"({"n": 42, "l": [{"sku": "001", "count": 2}]})"}}));
  EXPECT_EQ(calls_of("minimax-m3",
                     call(element("o", element("id", "7") + element("tags", element("tag", "1")) +
                                           element("tags", "")))),
            (Calls{{"f", R"({"o": {"id": "7", "tags": ["1"], "tags": []}})"}}));
  // Without a schema: items make a list, others an object, and values are what they look like.
  EXPECT_EQ(calls_of("minimax-m3",
                     call(element("x", element("item", "1") + element("item", "b")) +
                          element("y", element("z", "true")) + element("v", "{\"a\": [1]}"))),
            (Calls{{"f", R"({"x": [1, "b"], "y": {"z": true}, "v": {"a": [1]}})"}}));
  EXPECT_EQ(calls_of("minimax-m3", call("")), (Calls{{"f", "{}"}}));
  whole = true;
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += ns + "<item>";
  for (const std::string& inside : {element("n", "4") + "text", ns + "<n>4" + ns + "</m>",
                                    element("n", "4" + element("a", "")), ns + "<>4", deep})
    EXPECT_TRUE(read("minimax-m3", call(inside)).calls.empty()) << inside;
}

TEST_F(CallFormsTest, loose_json_is_read) {
  const auto call = [](const std::string& inside) {
    return "<|tool_call>call:f{" + inside + "}<tool_call|>";
  };
  EXPECT_EQ(calls_of("gemma4", call("s:<|\"|>San {Francisco}, \"CA\"<|\"|>,n:42,flag:true")),
            (Calls{{"f", R"({"s": "San {Francisco}, \"CA\"", "n": 42, "flag": true})"}}));
  EXPECT_EQ(
      calls_of("gemma4", call("nested:{inner:<|\"|>val<|\"|>,m:[1,[2]]}, items:[<|\"|>a<|\"|>,"
                              "<|\"|>b]<|\"|>],e:{}")),
      (Calls{
          {"f", R"({"nested": {"inner": "val", "m": [1, [2]]}, "items": ["a", "b]"], "e": {}})"}}));
  EXPECT_EQ(calls_of("gemma4", call("<|\"|>k<|\"|>: -1.5e3 , l:[{sku:12,count:3}], w:bare text")),
            (Calls{{"f", R"({"k": -1.5e3, "l": [{"sku": "12", "count": 3}], "w": "bare text"})"}}));
  EXPECT_EQ(calls_of("gemma4", call("")), (Calls{{"f", "{}"}}));
  whole = true;
  for (const std::string inside : {"s:", "s:,n:1", "[", "s:<|\"|>", "n:4]", "l:[1}"})
    EXPECT_TRUE(read("gemma4", call(inside)).calls.empty()) << inside;
  EXPECT_TRUE(read("gemma4", call("a:" + std::string(100, '['))).calls.empty());
}

TEST_F(CallFormsTest, names_may_be_keys_and_keys_have_other_names) {
  EXPECT_EQ(calls_of("apertus2509",
                     "<|tools_prefix|>[{\"f\": {\"s\": \"x\"}}, {\"g\": null}]<|tools_suffix|>"),
            (Calls{{"f", R"({"s": "x"})"}, {"g", "{}"}}));
  whole = true;
  for (const std::string inside : {"{\"f\": {}, \"g\": {}}", "{\"f\": 1}", "{}", "{\"h\": {}}"})
    EXPECT_TRUE(
        read("apertus2509", "<|tools_prefix|>[" + inside + "]<|tools_suffix|>").calls.empty())
        << inside;
  EXPECT_EQ(calls_of("cohere_command4",
                     "<|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"f\", "
                     "\"parameters\": {\"n\": 1}}\n]<|END_ACTION|>"),
            (Calls{{"f", "{\"n\": 1}"}}));
  EXPECT_EQ(calls_of("hermes", "<tool_call>{\"tool_name\": \"f\"}</tool_call>"), Calls{});
}

TEST_F(CallFormsTest, marks_come_in_several_ways) {
  const std::string json = R"({"name": "f", "arguments": {"n": 1}})";
  const Calls f{{"f", "{\"n\": 1}"}};
  EXPECT_EQ(calls_of("gigachat3", "<|function_call|>" + json), f);
  EXPECT_EQ(calls_of("gigachat3", "function call<|role_sep|>\n" + json), f);
  EXPECT_EQ(read("gigachat3", "Hi.<|message_sep|>\n\nfunction call<|role_sep|>\n" + json).content,
            "Hi.");
  EXPECT_EQ(calls_of("interns1", "<|action_start|> <|plugin|>\n" + json + "<|action_end|>"), f);
  EXPECT_EQ(calls_of("interns1", "<|action_start|><|plugin|>" + json + "<|action_end|>"), f);
  EXPECT_EQ(calls_of("hunyuan",
                     "<tool_calls><tool_call>f<arg_key>n</arg_key><arg_value>1"
                     "</arg_value></tool_call></tool_calls>"),
            f);
  EXPECT_EQ(calls_of("mimo",
                     "<tool_call>\n<function=f>\n<parameter=s>\na\n</parameter>\n"
                     "</function>\n</tool_call>"),
            (Calls{{"f", R"({"s": "\na\n"})"}}));
}

TEST_F(CallFormsTest, marks_are_spelled_as_the_vocabulary_has_them) {
  const auto has = [](std::string_view token) { return token.ends_with(":opensource>"); };
  const auto has_none = [](std::string_view) { return false; };
  const CallStyle* calls = spelled_by(find_call_style("hunyuan"), has);
  const ReasoningStyle* reasoning = spelled_by(find_reasoning_style("hunyuan"), has);
  EXPECT_EQ(spelled_by(find_call_style("hunyuan"), has_none), find_call_style("hunyuan"));
  EXPECT_EQ(spelled_by(find_call_style("glm45"), has), find_call_style("glm45"));
  EXPECT_EQ(spelled_by(static_cast<const CallStyle*>(nullptr), has), nullptr);
  EXPECT_EQ(uninterrupted(*reasoning).open, "<think:opensource>");
  const auto read = read_with(
      {.reasoning = reasoning, .calls = calls, .call_options = {.tools = tools}},
      "<think:opensource>Hm.<tool_calls:opensource>\n<tool_call:opensource>f<tool_sep:opensource>\n"
      "<arg_key:opensource>n</arg_key:opensource>\n<arg_value:opensource>1</arg_value:opensource>\n"
      "</tool_call:opensource>\n</tool_calls:opensource>");
  EXPECT_EQ(read.reasoning, "Hm.");
  EXPECT_EQ(read.calls, (Calls{{"f", "{\"n\": 1}"}}));
  EXPECT_EQ(read.content, "");
}

TEST_F(CallFormsTest, reasoning_of_apertus_goes_on_behind_calls) {
  const std::string call = "<|tools_prefix|>[{\"g\": {}}]<|tools_suffix|>";
  const auto read = thought("apertus2509",
                            "<|inner_prefix|>one " + call +
                                "two<|inner_suffix|>Hello "
                                "<|inner_prefix|>three<|inner_suffix|>you",
                            false, "apertus2509");
  EXPECT_EQ(read.reasoning, "one twothree");
  EXPECT_EQ(read.content, "Hello you");
  EXPECT_EQ(read.calls, (Calls{{"g", "{}"}}));
  // What stands in the arguments of a call is theirs.
  const auto inside = thought("apertus2509",
                              "<|tools_prefix|>[{\"f\": {\"s\": \"<|inner_prefix|>\"}}]"
                              "<|tools_suffix|>",
                              false, "apertus2509");
  EXPECT_EQ(inside.calls, (Calls{{"f", R"({"s": "<|inner_prefix|>"})"}}));
  EXPECT_EQ(inside.reasoning, "");
}

TEST_F(CallFormsTest, thoughts_that_stay_text_get_their_mark_back) {
  const char* style = "minimax-append-think";
  EXPECT_EQ(thought(style, "a</think>b", true).content, "<think>a</think>b");
  EXPECT_EQ(thought(style, "<think>a</think>b", true).content, "<think>a</think>b");
  EXPECT_EQ(thought(style, "a", false).content, "a");
  EXPECT_EQ(thought(style, "", true).content, "<think>");
  EXPECT_EQ(thought(style, "a</think>b", true).reasoning, "");
}

TEST_F(CallFormsTest, templates_tell_the_marks_of_reasoning) {
  const std::string think = "{{ '<think>' }}";
  for (const auto& [source, style] : std::vector<std::pair<std::string, std::string_view>>{
           {"<|inner_prefix|>", "apertus2509"},
           {"<|channel>thought", "gemma4"},
           {"<|channel|>analysis", "gpt-oss"},
           {"[THINK]", "mistral"},
           {"<|START_THINKING|>", "cohere_command4"},
           {"'<|open|>' + role + '<|sep|>'", "kimi_k3"},
           {"<mm:think>", "minimax-m3"},
           {think + "<minimax:tool_call>", "minimax"},
           {think + "<｜DSML｜tool_calls>", "deepseek-v4"},
           {think + "<tool_call>{{ name }}<tool_sep>", "hunyuan"},
           {think + "default_thinking_sys<tool_call>", "interns1"},
           {think + "truncate_history_thinking<tool_call>", "nemotron_3"},
           {think + "<tool_call><arg_key>", "glm45"},
           {think + "<tool_call>", "qwen3"},
           {think, "deepseek-v3"},
           {"<tool_call>", ""}}) {
    const ReasoningStyle* told = reasoning_style_of_template(source);
    EXPECT_EQ(told == nullptr ? "" : told->name, style) << source;
  }
}

TEST_F(CallFormsTest, marks_of_reasoning_are_told_at_the_end_of_a_prompt) {
  const auto& gemma = *find_reasoning_style("gemma4");
  EXPECT_TRUE(begins_inside(gemma, "<start_of_turn>model\n<|channel>thought\n", "", true));
  EXPECT_FALSE(begins_inside(gemma, "<|channel>thought\n<channel|>", "", true));
  EXPECT_FALSE(may_open(gemma, "<|channel>thought\n<channel|>", "", true));
  EXPECT_FALSE(begins_inside(gemma, "<start_of_turn>model\n", "", true));
  EXPECT_EQ(thought("gemma4", "<|channel>thought\nHm.<channel|>Yes.", false),
            (ReadAnswer{.reasoning = "Hm.", .content = "Yes."}));
  EXPECT_EQ(thought("mistral", "[THINK]Hm.[/THINK]Yes.", false),
            (ReadAnswer{.reasoning = "Hm.", .content = "Yes."}));
  EXPECT_EQ(thought("nemotron_3", "Hm.</think>Yes.", true).reasoning, "Hm.");
}

}  // namespace
}  // namespace foretoken
