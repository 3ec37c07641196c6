#include "app/chat/answer_delta.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(AnswerDelta, ReadsTextAndItsEnd) {
  const auto delta = read_answer_delta(
      R"({"choices": [{"index": 0, "delta": {"role": null, "content": "Hi", "reasoning_content": "Hm",
          "tool_calls": null}, "finish_reason": null}], "usage": null})");
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->content, "Hi");
  EXPECT_EQ(delta->reasoning, "Hm");
  EXPECT_EQ(delta->finish, "");
  EXPECT_FALSE(delta->report);
  EXPECT_FALSE(delta->completion_tokens);
  const auto end = read_answer_delta(
      R"({"choices": [{"delta": {}, "finish_reason": "length"}], "usage": {"completion_tokens": 7}})");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->finish, "length");
  EXPECT_EQ(end->completion_tokens, 7);
}

TEST(AnswerDelta, SaysOfEachTokenWhoDraftedIt) {
  const auto delta =
      read_answer_delta(R"({"choices": [{"delta": {"content": ""}, "speculative": {"trace": [
      {"drafts": [{"token": 1, "text": " a", "parent": -1, "drafters": ["EAGLE3", "SUFFIX"], "accepted": true},
                  {"token": 2, "text": " b", "parent": 0, "drafters": [], "accepted": true}],
       "output": [{"token": 1, "text": " a", "draft": 0}, {"token": 2, "text": "?", "bytes": [240, 159], "draft": 1},
                  {"token": 3, "text": "<end>", "special": true, "draft": null}]},
      {"drafts": [], "output": [{"token": 4, "text": "c", "draft": 9}]}]}}]})");
  ASSERT_TRUE(delta);
  ASSERT_EQ(delta->tokens.size(), 4U);
  EXPECT_EQ(delta->tokens[0].bytes, " a");
  EXPECT_EQ(delta->tokens[0].drafter, "EAGLE3");
  EXPECT_EQ(delta->tokens[1].bytes, "\xF0\x9F");
  EXPECT_EQ(delta->tokens[1].drafter, "draft");
  EXPECT_EQ(delta->tokens[2].bytes, "");
  EXPECT_EQ(delta->tokens[2].drafter, "");
  EXPECT_EQ(delta->tokens[3].drafter, "");
}

TEST(AnswerDelta, ReadsTheReport) {
  const auto delta =
      read_answer_delta(R"({"choices": [{"delta": {}, "finish_reason": "stop", "speculative": {
      "drafters": {"SUFFIX": {"proposed": 9, "accepted": 4}}, "verify_steps": 5, "accepted_by_depth": [3, 1]}}]})");
  ASSERT_TRUE(delta && delta->report);
  EXPECT_EQ(delta->report->verify_steps, 5);
  EXPECT_EQ(delta->report->accepted, 4);
  ASSERT_EQ(delta->report->drafters.size(), 1U);
  EXPECT_EQ(delta->report->drafters[0].drafter, "SUFFIX");
  EXPECT_EQ(delta->report->drafters[0].proposed, 9);
  EXPECT_EQ(delta->report->drafters[0].accepted, 4);
}

TEST(AnswerDelta, FindsTheErrorInAnyOfTheirForms) {
  EXPECT_EQ(read_answer_delta(R"({"error": {"message": "too long", "code": 400}})")->error,
            "too long");
  EXPECT_EQ(read_answer_delta(R"({"error": "aborted"})")->error, "aborted");
  EXPECT_EQ(read_answer_delta(R"({"object": "error", "message": "no such model"})")->error,
            "no such model");
  EXPECT_EQ(read_answer_delta(R"({"error": {"code": 500}})")->error, "the server tells no reason");
  EXPECT_EQ(read_answer_delta(R"({"error": null, "choices": []})")->error, "");
  EXPECT_EQ(error_of_body(R"({"error": {"message": "too long"}})"), "too long");
  EXPECT_EQ(error_of_body("<html>"), "");
}

TEST(AnswerDelta, OtherTypesAreNothing) {
  EXPECT_FALSE(read_answer_delta("[]"));
  EXPECT_FALSE(read_answer_delta("{\"choices\": ["));
  for (
      const char* odd :
      {R"({"choices": 7})", R"({"choices": [7]})",
       R"({"choices": [{"delta": [], "speculative": 1}]})",
       R"({"choices": [{"delta": {"content": 7}, "speculative": {"trace": [1, {"output": [2, {"bytes": ["x"]}]}]}}]})",
       R"({"choices": [{"speculative": {"verify_steps": {}, "accepted_by_depth": 1, "drafters": [1]}}], "usage": 1})"}) {
    const auto delta = read_answer_delta(odd);
    ASSERT_TRUE(delta) << odd;
    EXPECT_EQ(delta->content, "") << odd;
    EXPECT_EQ(delta->error, "") << odd;
  }
}

}  // namespace
}  // namespace foretoken
