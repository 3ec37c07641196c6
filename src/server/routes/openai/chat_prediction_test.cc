// Predictions in bodies of /v1/chat/completions, and what usage says of them.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/chat_fixture.h"

namespace foretoken {
namespace {

TEST_F(ChatTest, a_prediction_goes_to_the_engine_and_its_drafts_into_usage) {
  engine.with_drafts = true;
  start();
  for (
      const char* prediction :
      {R"({"type":"content","content":"Hello, moon!"})",
       R"({"type":"content","content":[{"type":"text","text":"Hello, "},{"type":"text","text":"moon!"}]})"}) {
    const auto body = json_of(chat(std::string(R"("n":2,"prediction":)") + prediction).body);
    const auto& details = body.at("usage").at("completion_tokens_details");
    EXPECT_EQ(details.at("accepted_prediction_tokens"), 28) << "no more than were said";
    EXPECT_EQ(details.at("rejected_prediction_tokens"), 4);
  }
  ASSERT_EQ(engine.received().size(), 4U);
  for (const Request& request : engine.received())
    EXPECT_EQ(tokenizer().decode(request.prediction, SpecialText::kKeep), "Hello, moon!");
}

// The engine does not see where a stop string ends an answer.
TEST_F(ChatTest, drafts_from_a_prediction_are_counted_up_to_a_stop_string) {
  engine.with_drafts = true;
  start();
  const auto body =
      json_of(chat(R"("stop":"llo","prediction":{"type":"content","content":"Hello"})").body);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "He");
  const auto& details = body.at("usage").at("completion_tokens_details");
  EXPECT_GT(details.at("accepted_prediction_tokens").as_int64(), 0);
  EXPECT_EQ(details.at("rejected_prediction_tokens"), 2);
}

TEST_F(ChatTest, without_a_prediction_usage_says_nothing_of_one) {
  engine.with_drafts = true;
  start();
  for (const char* fields : {"", R"("prediction":null)"}) {
    const auto body = json_of(chat(fields).body);
    EXPECT_EQ(body.at("usage").as_object().if_contains("completion_tokens_details"), nullptr);
  }
  const auto body = json_of(chat(R"("prediction":{"type":"content","content":""})").body);
  EXPECT_EQ(body.at("usage").at("completion_tokens_details").at("accepted_prediction_tokens"), 0);
}

TEST_F(ChatTest, a_stream_tells_of_its_prediction_at_the_end) {
  engine.with_drafts = true;
  start();
  const auto chunks = stream(
      R"("stream_options":{"include_usage":true},"prediction":{"type":"content","content":"Hello"})");
  EXPECT_EQ(
      chunks.back().at("usage").at("completion_tokens_details").at("rejected_prediction_tokens"),
      2);
}

TEST_F(ChatTest, what_is_no_prediction_is_refused_by_name) {
  start();
  for (const auto& [value, fault] : std::vector<std::pair<std::string, std::string>>{
           {R"("Hello")", "body.prediction: Input should be a valid dictionary"},
           {R"({"content":"Hello"})", "body.prediction.type: Field required"},
           {R"({"type":"diff","content":"Hello"})", "Input should be 'content' (found 'diff')"},
           {R"({"type":"content"})", "body.prediction.content: Field required"},
           {R"({"type":"content","content":5})", "Input should be a valid string or list"},
           {R"({"type":"content","content":["Hello"]})", "body.prediction.content.0"},
           {R"({"type":"content","content":[{"type":"image_url"}]})", "this model reads text only"},
           {R"({"type":"content","content":[{"type":"text"}]})", "content.0.text: Field required"}})
    EXPECT_NE(refusal_of(R"("prediction":)" + value).find(fault), std::string::npos)
        << value << ": " << refusal_of(R"("prediction":)" + value);
}

TEST_F(ChatTest, a_prediction_is_cut_where_no_answer_could_reach) {
  start();
  const std::string text(3000, 'x');
  ASSERT_EQ(chat(R"("prediction":{"type":"content","content":")" + text + "\"}").status, 200);
  EXPECT_EQ(engine.received().at(0).prediction.size(), 512U);
  const std::string endless((std::size_t{1} << 20) + 1, 'x');
  EXPECT_NE(refusal_of(R"("prediction":{"type":"content","content":")" + endless + "\"}")
                .find("prediction: the text is too long"),
            std::string::npos);
}

TEST_F(ChatTest, a_server_without_predictions_takes_them_as_said) {
  config.serves_predictions = false;
  start();
  const auto body = json_of(chat(R"("prediction":{"type":"content","content":"Hello"})").body);
  EXPECT_EQ(body.at("usage").at("completion_tokens_details").at("rejected_prediction_tokens"), 0);
  EXPECT_TRUE(engine.received().at(0).prediction.empty());
  EXPECT_NE(refusal_of(R"("prediction":{"type":"content","content":1})"), "");
}

}  // namespace
}  // namespace foretoken
