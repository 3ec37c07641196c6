// When calls that a model makes on its own are bound, and what stands around them.

#include "server/structured/call_constraint.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "server/testing/call_fixture.h"

namespace foretoken {
namespace {

TEST_F(CallConstraintTest, a_call_is_bound_and_what_stands_around_it_is_free) {
  wish(
      "Look {\"a\"\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}\n</tool_call>\n"
      "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>");
  start();
  const auto choice = chat(tools());
  EXPECT_EQ(choice.at("message").at("content"), "Look {\"a\"");
  EXPECT_EQ(calls_of(choice), "f({\"a\": \"y\"})g({})");
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
}

TEST_F(CallConstraintTest, what_the_schema_bars_is_not_said) {
  wish("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"zzz\"}}\n</tool_call>");
  start();
  for (const bool is_strict : {false, true}) {
    const auto calls = calls_of(chat(tools(is_strict)));
    EXPECT_TRUE(calls.starts_with("f({\"a\": \"x\"") || calls.starts_with("f({\"a\": \"y\""))
        << calls;
  }
  stop();
  wish("<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>");
  start();
  EXPECT_FALSE(calls_of(chat(tools())).empty()) << "the name is one of the tools'";
}

TEST_F(CallConstraintTest, an_answer_without_a_call_costs_no_mask) {
  wish("No <tool_ call> here, {\"name\": 1}.");
  start();
  EXPECT_EQ(chat(tools(true)).at("message").at("content"), "No <tool_ call> here, {\"name\": 1}.");
  EXPECT_TRUE(is_bound_);
  EXPECT_EQ(masks_, 0);
}

TEST_F(CallConstraintTest, the_flag_leaves_those_that_are_not_strict_free) {
  config.binds_arguments = false;
  wish("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"zzz\"}}\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools())), "f({\"a\": \"zzz\"})");
  EXPECT_FALSE(is_bound_);
  EXPECT_NE(calls_of(chat(tools(true))), "f({\"a\": \"zzz\"})");
  EXPECT_TRUE(is_bound_);
  stop();
  wish("<tool_call>\n{\"name\": \"g\", \"arguments\": {\"any\": [1]}}\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools(true))), "g({\"any\": [1]})");
}

// A token may hold the end of the mark and more: what it says of the call must fit, else the call
// is left to the parser.
TEST_F(CallConstraintTest, a_mark_may_end_inside_of_a_token) {
  const auto vocabulary = GrammarVocabulary::of(tokenizer());
  ASSERT_TRUE(vocabulary);
  const auto constraint_of = [&](const char* mark, const char* regex) {
    auto grammar = Grammar::compile(
        *vocabulary, {.kind = GrammarSpec::Kind::kRegex, .source = regex, .layout = {}});
    EXPECT_TRUE(grammar);
    GrammarParts call{
        .grammar = *std::move(grammar), .guide = nullptr, .tokenizer = tokenizer(), .stops = {}};
    return CallSource({.call = std::make_shared<const GrammarParts>(std::move(call)),
                       .marks = {.calls = {mark}}})
        .start();
  };
  // The longest token that is a text here.
  const std::string_view eos = tokenizer().piece(kByteEos);
  ASSERT_EQ(eos, "<|eos|>");
  const auto fits = constraint_of("<|e", R"(os\|>[0-9]!)");
  fits->advance(kByteEos);
  EXPECT_TRUE(fits->allows('7'));
  EXPECT_FALSE(fits->allows('x'));
  EXPECT_EQ(fits->count_allowed(byte_tokens("7!")), 2);
  for (const Token token : byte_tokens("7!")) fits->advance(token);
  EXPECT_TRUE(fits->allowed().empty()) << "free again";
  const auto other = constraint_of("<|e", "[0-9]");
  other->advance(kByteEos);
  EXPECT_TRUE(other->allowed().empty());
}

TEST_F(CallConstraintTest, what_is_thought_is_no_call) {
  config.reasoning_parser = "deepseek-r1";
  wish("a <tool_call>\n{no} </think>\n<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>");
  start();
  const auto choice = chat(tools(true));
  EXPECT_EQ(choice.at("message").at("reasoning_content"), "a <tool_call>\n{no} ");
  EXPECT_EQ(calls_of(choice), "g({})");
}

TEST_F(CallConstraintTest, schemas_that_cannot_be_compiled_bind_only_to_an_object) {
  wish("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"any\": 1}}\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools(false, R"({"properties":{"a":{"not":{}}}})"))), "f({\"any\": 1})");
  EXPECT_TRUE(is_bound_);
  const std::string why = refusal(tools(true, R"({"properties":{"a":{"not":{}}}})"));
  EXPECT_EQ(why,
            "the parameters of the strict tool 'f' cannot be used: the keyword \"not\" is not "
            "supported (at /properties/a)");
}

TEST_F(CallConstraintTest, servers_without_grammars_refuse_strict_tools) {
  config.serves_grammars = false;
  wish("Yes.");
  start();
  EXPECT_EQ(refusal(tools(true)),
            "strict tools are not supported: this server runs with --grammar-backend none");
  chat(tools());
  EXPECT_FALSE(is_bound_);
}

// Outside of a section the mark is text, as the parser has it.
TEST_F(CallConstraintTest, a_mark_outside_of_its_section_is_none) {
  config.tool_call_parser = "minimax-m2";
  const std::string text = "It reads <invoke name=\"h\"> there.";
  wish(text);
  start();
  EXPECT_EQ(chat(tools(true)).at("message").at("content"), text.c_str());
  EXPECT_TRUE(is_bound_);
  EXPECT_EQ(masks_, 0);
}

TEST_F(CallConstraintTest, answers_that_merely_begin_like_a_call_are_free) {
  for (const char* style : {"llama3", "llama4", "pythonic"})
    for (const char* text :
         {R"({"name": "h", "parameters": {"a": "zz"}})", R"({"names": ["f"]})",
          R"(["f", {"a": 1}])", R"([f, g])", R"(See {"name": "f", "parameters": {"a": "zz"}})",
          R"(See [h(a="zz")])"}) {
      config.tool_call_parser = style;
      wish(text);
      start();
      EXPECT_EQ(chat(tools(true)).at("message").at("content"), text) << style;
      EXPECT_TRUE(is_bound_);
      EXPECT_EQ(masks_, 0) << style << ": " << text;
      stop();
    }
}

TEST_F(CallConstraintTest, calls_in_python_are_bound_wherever_they_begin) {
  for (const char* style : {"llama4", "pythonic"})
    for (const char* before : {"See [1]: ", "Look:\n```python\n", "So <|python_start|>", "[1] "}) {
      config.tool_call_parser = style;
      wish(before + std::string("[f(a='y')] and [ g()] Done."));
      start();
      EXPECT_EQ(calls_of(chat(tools(true))), R"(f({"a": "y"})g({}))") << style << ": " << before;
      EXPECT_GT(masks_, 5);
      stop();
      wish(before + std::string("[f(a='zz')]"));
      start();
      const auto calls = calls_of(chat(tools(true)));
      EXPECT_TRUE(calls.starts_with(R"(f({"a": "x")")) << style << ": " << calls;
      stop();
    }
}

TEST_F(CallConstraintTest, without_a_family_nothing_is_bound) {
  config.tool_call_parser = "none";
  wish("Yes.");
  start();
  chat(tools(true));
  EXPECT_FALSE(is_bound_);
}

}  // namespace
}  // namespace foretoken
