#include "tune/prompt_texts.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

std::string fault(const std::string& text) {
  try {
    parse_prompt_texts(text, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PromptTexts, lines_as_of_mt_bench) {
  const auto prompts = parse_prompt_texts(
      "{\"question_id\": 1, \"category\": \"math\", \"turns\": [\"a\", \"b\"]}\n\n"
      "{\"turns\": [\"c\"]}\r\n",
      "file");
  ASSERT_EQ(prompts.size(), 2U);
  EXPECT_EQ(prompts[0].category, "math");
  EXPECT_EQ(prompts[0].turns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(prompts[1].category, "");
  EXPECT_EQ(prompts[1].turns, std::vector<std::string>{"c"});
}

TEST(PromptTexts, an_array_as_of_sharegpt) {
  const auto prompts = parse_prompt_texts(
      R"( [{"id": "x", "conversations": [{"from": "human", "value": "a"},
          {"from": "gpt", "value": "b"}, {"from": "human", "value": "c"}]},
          {"conversations": [{"from": "gpt", "value": "nobody asked"}]},
          {"conversations": [{"from": "human", "value": ""}, {"from": "user", "value": "d"}]}])",
      "file");
  ASSERT_EQ(prompts.size(), 2U);
  EXPECT_EQ(prompts[0].turns, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(prompts[1].turns, std::vector<std::string>{"d"});
}

TEST(PromptTexts, lines_of_other_layouts) {
  const auto prompts = parse_prompt_texts(
      R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}]}
{"prompt": "b", "task": "qa"}
{"text": "c"}
"d")",
      "file");
  ASSERT_EQ(prompts.size(), 4U);
  EXPECT_EQ(prompts[0].turns, std::vector<std::string>{"a"});
  EXPECT_EQ(prompts[1].category, "qa");
  EXPECT_EQ(prompts[1].turns, std::vector<std::string>{"b"});
  EXPECT_EQ(prompts[2].turns, std::vector<std::string>{"c"});
  EXPECT_EQ(prompts[3].turns, std::vector<std::string>{"d"});
}

TEST(PromptTexts, faults_name_file_and_line) {
  EXPECT_NE(fault("{\"turns\": [\"a\"]}\n{").find("file, line 2"), std::string::npos);
  EXPECT_NE(fault("[{\"turns\": [\"a\"]}, 7]").find("file, element 2"), std::string::npos);
  EXPECT_NE(fault("{\"turns\": \"a\"}").find("turns that are no list"), std::string::npos);
  EXPECT_NE(fault("{\"turns\": [7]}").find("no text"), std::string::npos);
  EXPECT_NE(fault("{\"messages\": [7]}").find("a message that is no object"), std::string::npos);
  EXPECT_NE(fault("{\"conversations\": 7}").find("no list of messages"), std::string::npos);
  EXPECT_NE(fault("{\"question\": \"a\"}").find("bad prompt (file, line 1)"), std::string::npos);
  EXPECT_NE(fault("\n \n").find("no prompts (file)"), std::string::npos);
  EXPECT_NE(fault("[]").find("no prompts (file)"), std::string::npos);
  EXPECT_THROW(read_prompt_texts("/nowhere/prompts.jsonl"), Error);
}

TEST(PromptTexts, there_are_some_for_who_has_none) {
  const auto prompts = usual_prompt_texts();
  EXPECT_EQ(prompts.size(), 24U);
  for (const auto& prompt : prompts) {
    EXPECT_FALSE(prompt.category.empty());
    ASSERT_EQ(prompt.turns.size(), 1U);
    EXPECT_FALSE(prompt.turns[0].empty());
  }
}

}  // namespace
}  // namespace foretoken
