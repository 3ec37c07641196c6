#include "server/chat/message_parts.h"

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace foretoken {
namespace {

namespace json = boost::json;

std::string refusal_of(const std::string& parts, std::string_view role) {
  const auto message = json::parse(R"({"content":[)" + parts + "]}").as_object();
  std::optional<Refusal> fault;
  Fields fields(message, "m", fault);
  check_content(fields, role);
  return fault ? fault->message : "";
}

std::string shown(const std::string& message, std::string_view source = "") {
  const json::array messages{json::parse(message)};
  return json::serialize(shown_messages(messages, source).front());
}

TEST(MessageParts, each_role_has_parts_of_its_own) {
  const std::string thought = R"({"type":"thinking","thinking":"t"})",
                    reasoning = R"({"type":"reasoning","text":"t"})",
                    list = R"({"type":"thinking","thinking":[{"type":"text","text":"t"}]})",
                    reference = R"({"type":"tool_reference","name":"f"})";
  for (const auto& part : {thought, reasoning, list}) {
    EXPECT_EQ(refusal_of(part, "assistant"), "");
    EXPECT_EQ(refusal_of(part, "user"),
              "m.content.0: thinking content parts are only valid in assistant messages");
  }
  EXPECT_EQ(refusal_of(reference, "tool"), "");
  EXPECT_EQ(refusal_of(reference, "user"),
            "m.content.0: content of type 'tool_reference' is not supported: this model reads text "
            "only");
}

TEST(MessageParts, parts_without_their_content_are_refused) {
  const std::string one = "m.content.0: thinking parts require exactly one of 'thinking' or 'text'";
  EXPECT_EQ(refusal_of(R"({"type":"thinking"})", "assistant"), one);
  EXPECT_EQ(refusal_of(R"({"type":"thinking","text":"a","thinking":"b"})", "assistant"), one);
  EXPECT_EQ(refusal_of(R"({"type":"reasoning","text":1})", "assistant"),
            "m.content.0.text: Input should be a valid string (found integer)");
  EXPECT_EQ(refusal_of(R"({"type":"thinking","thinking":[{"type":"text"}]})", "assistant"),
            "m.content.0.thinking.0.text: Field required");
  EXPECT_EQ(refusal_of(R"({"type":"tool_reference"})", "tool"), "m.content.0.name: Field required");
  EXPECT_EQ(refusal_of(R"({"text":"x"})", "user"), "m.content.0.type: Field required");
}

TEST(MessageParts, thoughts_are_told_apart) {
  EXPECT_EQ(shown(R"({"content":[{"type":"thinking","thinking":"a"},{"type":"text","text":"x"},
                                 {"type":"reasoning","text":"b"}],"reasoning_content":"0"})"),
            R"({"content":[{"type":"text","text":"x"}],"reasoning_content":"0ab"})");
  EXPECT_EQ(shown(R"({"content":[{"type":"thinking","thinking":[{"text":"a"},{"text":"b"}]}]})"),
            R"({"content":"","reasoning_content":"ab"})");
  EXPECT_EQ(shown(R"({"content":[{"type":"text","text":"x"}]})"),
            R"({"content":[{"type":"text","text":"x"}]})");
}

TEST(MessageParts, references_are_texts_unless_the_template_knows_them) {
  const std::string message = R"({"content":[{"type":"tool_reference","name":"f"}]})";
  EXPECT_EQ(shown(message), R"({"content":[{"type":"text","text":"f"}]})");
  EXPECT_EQ(shown(message, "{% if part.type == 'tool_reference' %}"), message);
}

TEST(MessageParts, the_text_is_that_of_all_parts_but_thoughts) {
  const auto message =
      json::parse(R"({"content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"b"},
                                 {"type":"tool_reference","name":"c"}]})")
          .as_object();
  std::optional<Refusal> fault;
  EXPECT_EQ(text_of_content(Fields(message, "m", fault)), "ac");
}

}  // namespace
}  // namespace foretoken
