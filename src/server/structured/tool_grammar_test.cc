// Calls that a request demands: what the output is bound to, and how the answer reads.

#include <gtest/gtest.h>

#include "batch/token_constraint.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr const char* kTools =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",
         "properties":{"a":{"$ref":"#/$defs/word"}},"required":["a"],"additionalProperties":false,
         "$defs":{"word":{"enum":["x","y"]}}}}},
       {"type":"function","function":{"name":"g"}}])";

class ToolGrammarTest : public ServerTest {
 protected:
  ToolGrammarTest() { config.serves_grammars = true; }
  ClientReply chat(const std::string& fields, const std::string& tools = kTools) {
    return post(port, "/v1/chat/completions",
                R"({"messages":[{"role":"user","content":"Hi"}],)" + tools + "," + fields + "}");
  }
  // Whether the last request's output may be this text and end there.
  bool may_be(std::string_view text) {
    const auto place = engine.received().back().constraint->start();
    for (const Token token : byte_tokens(text)) {
      if (!place->allows(token)) return false;
      place->advance(token);
    }
    return place->has_ended() || place->allows(kByteEos);
  }
};

TEST_F(ToolGrammarTest, a_demanded_call_is_one_of_the_tools_with_its_schema) {
  answer_with(R"([{"name": "f", "parameters": {"a": "y"}}])");
  start();
  const auto choice = json_of(chat(R"("tool_choice":"required")").body).at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_TRUE(choice.at("message").at("content").is_null());
  const auto& call = choice.at("message").at("tool_calls").at(0).at("function");
  EXPECT_EQ(call.at("name"), "f");
  EXPECT_EQ(call.at("arguments"), R"({"a": "y"})");
  EXPECT_TRUE(may_be(R"([{"name": "f", "parameters": {"a": "y"}}])"));
  EXPECT_TRUE(may_be(R"([{"name":"g","parameters":{}},{"name":"f","parameters":{"a":"x"}}])"));
  for (const char* text :
       {"Hi", "[]", R"([{"name": "h", "parameters": {}}])",
        R"([{"name": "f", "parameters": {"a": "z"}}])", R"([{"name": "f", "parameters": {}}])"})
    EXPECT_FALSE(may_be(text)) << text;
}

TEST_F(ToolGrammarTest, a_call_may_be_demanded_where_the_template_shows_no_tools) {
  text_options.shows_tools = false;
  config.prompts_tools = false;
  answer_with(R"([{"name": "g", "parameters": {}}])");
  start();
  for (const char* choice : {R"("required")", R"({"type":"function","function":{"name":"g"}})"}) {
    const auto reply = chat(R"("tool_choice":)" + std::string(choice));
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(json_of(reply.body).at("choices").at(0).at("finish_reason"), "tool_calls");
    EXPECT_TRUE(may_be(R"([{"name":"g","parameters":{}}])"));
    EXPECT_FALSE(may_be("Hi"));
  }
  EXPECT_EQ(chat(R"("tool_choice":"auto")").status, 400);
}

TEST_F(ToolGrammarTest, a_named_tool_is_called_once) {
  answer_with(R"([{"name": "g", "parameters": {}}])");
  start();
  const std::string named = R"("tool_choice":{"type":"function","function":{"name":"g"}})";
  EXPECT_EQ(json_of(chat(named).body).at("choices").at(0).at("finish_reason"), "tool_calls");
  EXPECT_TRUE(may_be(R"([{"name":"g","parameters":{}}])"));
  EXPECT_FALSE(may_be(R"([{"name":"f","parameters":{"a":"x"}}])"));
  EXPECT_FALSE(may_be(R"([{"name":"g","parameters":{}},{"name":"g","parameters":{}}])"));
}

TEST_F(ToolGrammarTest, there_is_no_second_call_where_none_may_be_parallel) {
  answer_with(R"([{"name": "g", "parameters": {}}])");
  start();
  EXPECT_EQ(chat(R"("tool_choice":"required","parallel_tool_calls":false)").status, 200);
  EXPECT_TRUE(may_be(R"([{"name":"g","parameters":{}}])"));
  EXPECT_FALSE(may_be(R"([{"name":"g","parameters":{}},{"name":"g","parameters":{}}])"));
}

TEST_F(ToolGrammarTest, other_routes_demand_calls_in_their_words) {
  answer_with(R"([{"name": "f", "parameters": {"a": "y"}}])");
  start();
  const auto message = json_of(post(port, "/v1/messages",
                                    R"({"max_tokens":99,"messages":[{"role":"user","content":"Hi"}],
               "tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}})")
                                   .body);
  EXPECT_EQ(message.at("content").at(0).at("input"), json::parse(R"({"a":"y"})"));
  const auto response = json_of(post(port, "/v1/responses",
                                     R"({"input":"Hi","tools":[{"type":"function","name":"f"}],
               "tool_choice":{"type":"function","name":"f"}})")
                                    .body);
  EXPECT_EQ(response.at("output").at(0).at("type"), "function_call");
}

TEST_F(ToolGrammarTest, demands_that_cannot_be_met_are_refused) {
  start();
  for (const auto& [fields, fault] : std::vector<std::pair<std::string, std::string>>{
           {R"("tool_choice":{"type":"function","function":{"name":"h"}})", "names 'h'"},
           {R"("tool_choice":{"type":"function"})", "body.tool_choice.function: Field required"},
           {R"("tool_choice":"maybe")", "body.tool_choice: Input should be"},
           {R"("tool_choice":"required","regex":"a")", "cannot stand beside"}}) {
    const auto reply = chat(fields);
    EXPECT_EQ(reply.status, 400);
    EXPECT_NE(reply.body.find(fault), std::string::npos) << reply.body;
  }
  EXPECT_NE(chat(R"("tool_choice":"required")", R"("tools":[])").body.find("there are no tools"),
            std::string::npos);
}

TEST_F(ToolGrammarTest, servers_without_grammars_refuse_demands) {
  config.serves_grammars = false;
  start();
  const auto reply = chat(R"("tool_choice":"required")");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("grammar"), std::string::npos) << reply.body;
}

TEST_F(ToolGrammarTest, what_is_thought_is_free_and_the_answer_is_bound) {
  config.reasoning_parser = "deepseek-r1";
  answer_with(R"(So {</think>{"a":1})");
  start();
  const auto choice = json_of(chat(R"("response_format":{"type":"json_object"})", R"("n":1)").body)
                          .at("choices")
                          .at(0);
  EXPECT_EQ(choice.at("message").at("reasoning_content"), "So {");
  EXPECT_EQ(choice.at("message").at("content"), R"({"a":1})");
  EXPECT_TRUE(may_be(R"(So {</think>{"a":1})"));
  EXPECT_FALSE(may_be(R"(So {</think>So {"a":1})"));
}

}  // namespace
}  // namespace foretoken
