#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class ChatTest : public ServerTest {
 protected:
  static constexpr const char* kChat = "/v1/chat/completions";
};

TEST_F(ChatTest, a_question_gets_the_whole_answer) {
  start();
  const auto reply =
      post(port, kChat, R"({"model":"any","messages":[{"role":"user","content":"Hi"}]})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto body = json_of(reply.body);
  EXPECT_EQ(body.at("object"), "chat.completion");
  EXPECT_EQ(body.at("model"), "any");
  const auto& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("content"), "Hello, world!");
  EXPECT_EQ(choice.at("message").at("role"), "assistant");
  EXPECT_TRUE(choice.at("message").at("tool_calls").is_null());
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("matched_stop"), kByteEos);
  EXPECT_TRUE(choice.at("logprobs").is_null());
  const auto prompt = engine.received().at(0).prompt;
  EXPECT_EQ(tokenizer().decode(prompt, SpecialText::kKeep),
            "<|bos|><|user|>user:Hi<|assistant|>");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), static_cast<int>(prompt.size()));
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 14);  // the stop token counts
  EXPECT_TRUE(body.at("usage").at("prompt_tokens_details").is_null());
  EXPECT_EQ(body.at("metadata").at("weight_version"), "default");
}

}  // namespace
}  // namespace foretoken
