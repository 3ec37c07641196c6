// Tools of models whose chat template shows none.

#include <gtest/gtest.h>

#include "server/chat/chat_prompt.h"
#include "server/testing/call_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr const char* kTool =
    R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})";
constexpr const char* kSection =
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})"
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments "
    "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    R"({"name": <function-name>, "arguments": <args-json-object>})"
    "\n</tool_call>";
constexpr const char* kHistory =
    R"({"role":"user","content":"u"},
       {"role":"assistant","content":null,"tool_calls":[
         {"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},
         {"id":"2","type":"function","function":{"name":"f","arguments":{"b":[2]}}},
         {"id":"3","type":"function","function":{"name":"f","arguments":""}}]},
       {"role":"tool","tool_call_id":"1","content":"one"},
       {"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"two"}]},
       {"role":"user","content":"v"})";
constexpr const char* kCalls =
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\":[2]}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
constexpr const char* kResults =
    "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>";

// Templates that show no tools, as models have them.
constexpr const char* kAnyRole =
    "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
constexpr const char* kNoSystem =
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "[{{ m.role }}:{{ m.content }}]{% endfor %}";
constexpr const char* kHidesSystem =
    "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}"
    "[{{ m.role }}:{{ m.content }}]{% endif %}{% endfor %}";

class PromptedToolsTest : public CallConstraintTest {
 protected:
  PromptedToolsTest() {
    config.tool_call_parser = "auto";
    text_options.shows_tools = false;
  }
  std::string prompt_of(const std::string& source, const std::string& messages,
                        const std::string& fields = {}) {
    const ChatTemplate form(source, tokenizer().config());
    const ServerContext context(config, engine, &tokenizer(), &form);
    const auto body = json_of(R"({"messages":[)" + messages + "]" + fields + "}").as_object();
    std::optional<Refusal> fault;
    Fields all(body, "body", fault);
    const auto prompt = render_chat(context, all);
    return prompt ? prompt->text : prompt.refusal().message;
  }
  const std::string tool = R"(,"tools":[)" + std::string(kTool) + "]";
  const std::string user = R"({"role":"user","content":"u"})";
};

TEST_F(PromptedToolsTest, the_system_prompt_shows_them) {
  EXPECT_EQ(prompt_of(kAnyRole, user, tool), "[system:" + std::string(kSection) + "][user:u]");
  for (const std::string role : {"system", "developer"})
    EXPECT_EQ(prompt_of(kAnyRole, R"({"role":")" + role + R"(","content":"s"},)" + user, tool),
              "[" + role + ":s\n\n" + kSection + "][user:u]");
  EXPECT_EQ(prompt_of(kAnyRole, user, tool + R"(,"tool_choice":"none")"), "[user:u]");
}

TEST_F(PromptedToolsTest, calls_and_results_of_the_history_are_text) {
  const std::string rest =
      "[user:u][assistant:" + std::string(kCalls) + "][user:" + kResults + "][user:v]";
  EXPECT_EQ(prompt_of(kAnyRole, kHistory, tool), "[system:" + std::string(kSection) + "]" + rest);
  EXPECT_EQ(prompt_of(kAnyRole, kHistory), rest);
}

TEST_F(PromptedToolsTest, a_template_without_a_system_shows_them_to_the_user) {
  const std::string system = R"({"role":"system","content":"s"},)";
  const std::string rest =
      "\n\nu][assistant:" + std::string(kCalls) + "][user:" + kResults + "\n\nv]";
  EXPECT_EQ(prompt_of(kNoSystem, system + kHistory, tool),
            "[user:s\n\n" + std::string(kSection) + rest);
  EXPECT_EQ(prompt_of(kNoSystem, kHistory, tool), "[user:" + std::string(kSection) + rest);
  EXPECT_EQ(prompt_of(kHidesSystem, system + user, tool),
            "[user:s\n\n" + std::string(kSection) + "\n\nu]");
}

TEST_F(PromptedToolsTest, what_cannot_be_shown_at_all_is_refused) {
  EXPECT_EQ(prompt_of("{% for m in messages %}[{{ m.role }}]{% endfor %}", user, tool),
            "tools are not supported: this model's chat template shows neither them nor the "
            "messages that they could be written into");
  EXPECT_EQ(prompt_of("{{ raise_exception('never') }}", user, tool), "chat template: never");
}

TEST_F(PromptedToolsTest, the_operator_may_refuse_them) {
  config.prompts_tools = false;
  EXPECT_EQ(prompt_of(kAnyRole, user, tool),
            "tools are not supported: this model's chat template shows them nowhere, so the model "
            "would not know of them (tool_choice required, or one by name, binds the answer to "
            "them; --tools-without-template prompt writes them into the system prompt)");
  EXPECT_EQ(prompt_of(kAnyRole, user, tool + R"(,"tool_choice":"required")"), "[user:u]");
}

TEST_F(PromptedToolsTest, an_answer_that_goes_on_ends_with_its_calls) {
  const std::string assistant =
      R"(,{"role":"assistant","content":"Look.","tool_calls":[
          {"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]})";
  EXPECT_EQ(prompt_of(kAnyRole, user + assistant, R"(,"continue_final_message":true)"),
            "[user:u][assistant:Look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n"
            "</tool_call>");
}

TEST_F(PromptedToolsTest, calls_are_bound_and_taken_out_of_the_answer) {
  // The schema of f has "x" and "y" for a: "z" is barred.
  wish("Look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"z\"}}\n</tool_call>");
  start();
  const auto choice = chat(tools());
  EXPECT_TRUE(is_bound_);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_TRUE(choice.at("message").at("content").as_string().starts_with("Look."));
  EXPECT_TRUE(calls_of(choice).starts_with("f({\"a\": \"x\"")) << calls_of(choice);
}

TEST_F(PromptedToolsTest, parser_none_leaves_calls_in_the_text) {
  config.tool_call_parser = "none";
  const std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
  answer_with(call);
  start();
  EXPECT_EQ(chat(tools()).at("message").at("content").as_string(), call);
}

TEST_F(PromptedToolsTest, other_routes_have_the_same_prompt) {
  answer_with("Hm.");
  start();
  const std::string messages = R"("messages":[{"role":"user","content":"u"}])";
  const auto count = json_of(
      post(port, "/v1/messages/count_tokens", "{" + messages + R"(,"model":"m","tools":[{"name":"f",
                                  "input_schema":{"type":"object"}}]})")
          .body);
  EXPECT_GT(count.at("input_tokens").as_int64(), 300);
  const auto parsed = json_of(
      post(port, "/parse_function_call",
           R"({"text":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>","tools":[)" +
               std::string(kTool) + "]}")
          .body);
  EXPECT_EQ(parsed.at("calls").at(0).at("name"), "f");
}

}  // namespace
}  // namespace foretoken
