#include <map>

#include <gtest/gtest.h>

#include "server/context/response_store.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr const char* kAnswer =
    "<think>\nHm.\n</think>\n\nLook.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
    "\"x\"}}\n</tool_call>";
constexpr const char* kTool =
    R"("tools":[{"type":"function","name":"f","parameters":{"type":"object"}}])";

class ResponsesTest : public ServerTest {
 protected:
  ResponsesTest() {
    config.tool_call_parser = "qwen25";
    config.reasoning_parser = "qwen3";
  }
  ClientReply ask(const std::string& fields = {}, const std::string& input = "\"Hi\"") {
    return post(port, "/v1/responses",
                R"({"model":"any","input":)" + input + (fields.empty() ? "" : "," + fields) + "}");
  }
  std::string last_prompt() {
    return tokenizer().decode(engine.received().back().prompt, SpecialText::kKeep);
  }
};

TEST_F(ResponsesTest, an_answer_is_a_list_of_items) {
  answer_with(kAnswer);
  start();
  const auto response = json_of(ask(kTool).body);
  EXPECT_EQ(response.at("object"), "response");
  EXPECT_EQ(response.at("status"), "completed");
  EXPECT_TRUE(response.at("error").is_null());
  const auto& output = response.at("output").as_array();
  ASSERT_EQ(output.size(), 3U);
  EXPECT_EQ(output[0].at("type"), "reasoning");
  EXPECT_EQ(output[0].at("content").at(0).at("text"), "Hm.");
  EXPECT_EQ(output[1].at("type"), "message");
  EXPECT_EQ(output[1].at("content").at(0).at("type"), "output_text");
  EXPECT_EQ(output[1].at("content").at(0).at("text"), "Look.");
  EXPECT_EQ(output[2].at("type"), "function_call");
  EXPECT_EQ(output[2].at("name"), "f");
  EXPECT_EQ(output[2].at("arguments"), R"({"a": "x"})");
  EXPECT_TRUE(output[2].at("call_id").as_string().starts_with("call_"));
  EXPECT_EQ(response.at("usage").at("output_tokens"), std::string(kAnswer).size() + 1);
  EXPECT_GT(response.at("usage").at("output_tokens_details").at("reasoning_tokens").as_int64(), 0);
  EXPECT_EQ(response.at("tools").at(0).at("name"), "f");
}

TEST_F(ResponsesTest, a_streams_events_are_numbered_and_join_to_the_whole) {
  answer_with(kAnswer);
  engine.tokens_per_step = 3;
  start();
  const auto reply = ask(std::string(kTool) + R"(,"stream":true)");
  EXPECT_EQ(reply.body.find("[DONE]"), std::string::npos);
  std::map<std::string, std::string> deltas;
  std::map<std::string, int> counts;
  std::int64_t number = 0;
  json::value last;
  for (const auto& text : sse_events(reply.body)) {
    last = json_of(text);
    EXPECT_EQ(last.at("sequence_number"), number++);
    const std::string type(last.at("type").as_string());
    ++counts[type];
    if (type.ends_with(".delta")) deltas[type] += last.at("delta").as_string();
    if (type == "response.output_text.done") {
      EXPECT_EQ(last.at("text"), "Look.");
    }
  }
  EXPECT_EQ(deltas["response.reasoning_text.delta"], "Hm.");
  EXPECT_EQ(deltas["response.output_text.delta"], "Look.");
  EXPECT_EQ(deltas["response.function_call_arguments.delta"], R"({"a": "x"})");
  for (const char* type : {"response.created", "response.in_progress", "response.completed",
                           "response.content_part.added", "response.content_part.done"})
    EXPECT_EQ(counts[type], 1) << type;
  EXPECT_EQ(counts["response.output_item.added"], 3);
  EXPECT_EQ(counts["response.output_item.done"], 3);
  EXPECT_EQ(last.at("type"), "response.completed");
  EXPECT_EQ(last.at("response").at("output").as_array().size(), 3U);
}

TEST_F(ResponsesTest, a_request_goes_on_from_an_earlier_answer) {
  start();
  const auto first = json_of(ask(R"("instructions":"Be brief.")").body);
  EXPECT_EQ(last_prompt(), "<|bos|><|user|>system:Be brief.<|user|>user:Hi<|assistant|>");
  const std::string id(first.at("id").as_string());
  const auto second = json_of(ask(R"("previous_response_id":")" + id + "\"", "\"And?\"").body);
  EXPECT_EQ(
      last_prompt(),
      "<|bos|><|user|>user:Hi<|assistant|>Hello, world!<|eos|><|user|>user:And?<|assistant|>");
  EXPECT_EQ(second.at("previous_response_id").as_string(), id);
  const auto reply = ask(R"("previous_response_id":"resp_x")");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(json_of(reply.body).at("message"), "Previous response with id 'resp_x' not found.");
  const std::string forgotten(json_of(ask(R"("store":false)").body).at("id").as_string());
  EXPECT_EQ(ask(R"("previous_response_id":")" + forgotten + "\"").status, 404);
}

TEST_F(ResponsesTest, items_of_a_conversation_reach_the_template) {
  start();
  EXPECT_EQ(ask("", R"([{"role":"developer","content":"d"},
     {"type":"message","role":"user","content":[{"type":"input_text","text":"A"}]},
     {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},
     {"type":"message","role":"assistant","content":[{"type":"output_text","text":"B"}]},
     {"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
     {"type":"function_call_output","call_id":"1","output":"C"}])")
                .status,
            200);
  EXPECT_EQ(
      last_prompt(),
      "<|bos|><|user|>developer:d<|user|>user:A<|assistant|>B<|eos|><|user|>tool:C<|assistant|>");
}

TEST_F(ResponsesTest, a_limit_makes_an_answer_incomplete) {
  start();
  const auto response = json_of(ask(R"("max_output_tokens":3)").body);
  EXPECT_EQ(response.at("status"), "incomplete");
  EXPECT_EQ(response.at("incomplete_details").at("reason"), "max_output_tokens");
  EXPECT_NE(ask(R"("max_output_tokens":3,"stream":true)").body.find("event: response.incomplete"),
            std::string::npos);
}

TEST_F(ResponsesTest, what_is_wrong_is_refused_with_its_place) {
  start();
  for (const auto& [fields, input, fault] : std::vector<std::array<std::string, 3>>{
           {"", "5", "body.input: Input should be a valid list"},
           {"", "[]", "at least 1 item"},
           {"", "[5]", "body.input.0: Input should be a valid dictionary"},
           {"", R"([{"role":"king","content":"x"}])", "body.input.0.role"},
           {"", R"([{"type":"item_reference","id":"x"}])", "items of type 'item_reference'"},
           {"", R"([{"role":"user","content":[{"type":"input_image"}]}])", "text only"},
           {R"("tools":[{"type":"web_search"}])", "\"x\"", "tools of type 'web_search'"},
           {R"("tools":[{"type":"function"}])", "\"x\"", "function.name: Field required"},
           {R"("background":true)", "\"x\"", "background is not supported"},
           {R"("truncation":"auto")", "\"x\"", "body.truncation"},
           {R"("include":["message.output_text.logprobs"])", "\"x\"", "body.include"},
           {R"("max_tokens":5)", "\"x\"", "use max_output_tokens"}}) {
    const auto reply = ask(fields, input);
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_NE(reply.body.find(fault), std::string::npos) << reply.body;
  }
  EXPECT_EQ(post(port, "/v1/responses", "{}").status, 400);
  EXPECT_NE(get(port, "/v1/responses/resp_x").body.find("not supported"), std::string::npos);
}

TEST(ResponseStore, the_oldest_go_where_too_much_is_kept) {
  ResponseStore store;
  for (std::size_t i = 0; i < ResponseStore::kMostResponses + 3; ++i)
    store.put(std::to_string(i), "[]");
  EXPECT_EQ(store.size(), ResponseStore::kMostResponses);
  EXPECT_FALSE(store.find("2"));
  EXPECT_TRUE(store.find("3"));
  store.put("half", std::string(ResponseStore::kMostBytes / 2 + 1, 'x'));
  store.put("other", std::string(ResponseStore::kMostBytes / 2 + 1, 'x'));
  EXPECT_FALSE(store.find("half"));
  EXPECT_TRUE(store.find("other"));
  EXPECT_EQ(store.size(), 1U);
  store.put("huge", std::string(ResponseStore::kMostBytes + 1, 'x'));
  EXPECT_FALSE(store.find("huge"));
  EXPECT_TRUE(store.find("other"));
}

}  // namespace
}  // namespace foretoken
