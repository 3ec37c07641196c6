#include "app/chat/conversation.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace foretoken {
namespace {

Conversation example() {
  return {.system = "Be brief.",
          .messages = {{.text = "Hello \"you\" \U0001F600"},
                       {.is_answer = true, .text = "Hi.", .reasoning = "A greeting."}}};
}

TEST(Conversation, ARequestHasTheSystemPromptAndAllMessages) {
  EXPECT_EQ(boost::json::serialize(example().worded()),
            "[{\"role\":\"system\",\"content\":\"Be brief.\"},"
            "{\"role\":\"user\",\"content\":\"Hello \\\"you\\\" \U0001F600\"},"
            "{\"role\":\"assistant\",\"content\":\"Hi.\",\"reasoning_content\":\"A greeting.\"}]");
  EXPECT_EQ(boost::json::serialize(Conversation{}.worded()), "[]");
}

TEST(Conversation, AFileIsReadAsItWasWritten) {
  const auto read = Conversation::imported(example().exported(5));
  ASSERT_TRUE(read) << read.refusal().message;
  EXPECT_EQ(boost::json::serialize(read->worded()), boost::json::serialize(example().worded()));
}

TEST(Conversation, AFileHasTheFormOfThePage) {
  const auto file = boost::json::parse(example().exported(1700000000000)).as_object();
  EXPECT_EQ(file.at("format"), "foretoken-conversations");
  EXPECT_EQ(file.at("version"), 1);
  const auto& first = file.at("conversations").as_array().at(0).as_object();
  EXPECT_EQ(first.at("title"), "Hello \"you\" \U0001F600");
  EXPECT_EQ(first.at("changed"), 1700000000000);
  EXPECT_EQ(first.at("messages").as_array().size(), 2U);
}

TEST(Conversation, ATitleIsCutAtACharacter) {
  Conversation conversation;
  for (int i = 0; i < 40; ++i)
    conversation.messages.resize(1), conversation.messages[0].text += "\u00e9";
  conversation.messages[0].text.insert(0, "x");
  const auto file = boost::json::parse(conversation.exported(0)).as_object();
  const auto title = file.at("conversations").as_array().at(0).as_object().at("title").as_string();
  EXPECT_EQ(title.size(), 59U);
  conversation.messages[0].text = "first\nsecond";
  EXPECT_NE(conversation.exported(0).find("\"title\":\"first\""), std::string::npos);
}

TEST(Conversation, OtherFilesAreRefusedWithTheReason) {
  const auto refused = [](std::string_view file) {
    const auto read = Conversation::imported(file);
    EXPECT_FALSE(read) << file;
    return read ? "" : read.refusal().message;
  };
  EXPECT_TRUE(refused("no JSON").starts_with("it is no JSON: "));
  EXPECT_EQ(refused("{}"), "it holds no conversations");
  EXPECT_EQ(refused("[]"), "it holds no conversations");
  EXPECT_EQ(refused(R"({"conversations": []})"), "it holds no conversations");
  EXPECT_EQ(refused(R"({"conversations": [7]})"), "it holds no messages");
  const std::string other = "it holds a message that is neither a user's nor an answer";
  EXPECT_EQ(refused(R"({"conversations": [{"messages": [{"role": "tool", "content": "x"}]}]})"),
            other);
  EXPECT_EQ(refused(R"({"conversations": [{"messages": [{"role": "user", "content": 7}]}]})"),
            other);
  EXPECT_EQ(refused(R"({"conversations": [{"messages": ["x"]}]})"), other);
}

}  // namespace
}  // namespace foretoken
