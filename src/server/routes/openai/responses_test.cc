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
  ClientReply remove(const std::string& path) { return HttpClient(port).request("DELETE", path); }
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

TEST_F(ResponsesTest, an_answer_that_somebody_aborted_is_cancelled) {
  engine.failure = Finish{FinishReason::kCancelled, kNoToken, {}};
  engine.failure_after = 3;
  answer_with("Look.");
  start();
  const auto response = json_of(ask().body);
  EXPECT_EQ(response.at("status"), "cancelled");
  EXPECT_TRUE(response.at("error").is_null());
  EXPECT_TRUE(response.at("incomplete_details").is_null());
  EXPECT_EQ(response.at("output").at(0).at("content").at(0).at("text"), "Loo");
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
                           "response.content_part.added", "response.content_part.done",
                           "response.reasoning_text.done"})
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
  EXPECT_EQ(reply.status, 400);
  const auto error = json_of(reply.body).at("error");
  EXPECT_EQ(error.at("message"), "Previous response with id 'resp_x' not found.");
  EXPECT_EQ(error.at("type"), "invalid_request_error");
  const std::string forgotten(json_of(ask(R"("store":false)").body).at("id").as_string());
  EXPECT_EQ(ask(R"("previous_response_id":")" + forgotten + "\"").status, 400);
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
           {"", "[]", "body.input: List should have at least 1 item"},
           {"", "[5]", "body.input.0: Input should be a valid dictionary"},
           {"", R"([{"role":"king","content":"x"}])", "body.input.0.role"},
           {"", R"([{"type":"item_reference","id":"x"}])", "items of type 'item_reference'"},
           {"", R"([{"role":"user","content":[{"type":"input_image"}]}])", "text only"},
           {R"("tools":[{"type":"function"}])", "\"x\"", "function.name: Field required"},
           {R"("background":true,"store":false)", "\"x\"", "body.background"},
           {R"("tools":[{"type":"custom"}])", "\"x\"", "body.tools.0.name: Field required"},
           {"", R"([{"type":"custom_tool_call","call_id":"1","name":"c"}])",
            "body.input.0.input: Field required"},
           {R"("top_logprobs":21)", "\"x\"", "top_logprobs must be in [0, 20]"},
           {R"("truncation":"auto")", "\"x\"", "body.truncation"},
           {R"("max_tokens":5)", "\"x\"", "use max_output_tokens"}}) {
    const auto reply = ask(fields, input);
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_NE(reply.body.find(fault), std::string::npos) << reply.body;
  }
  EXPECT_EQ(post(port, "/v1/responses", "{}").status, 400);
}

TEST_F(ResponsesTest, errors_have_openais_envelope) {
  start();
  const auto error = json_of(ask(R"("tools":[{"type":"function"}])").body).at("error");
  EXPECT_EQ(error.at("param"), "tools.0.function.name");
  EXPECT_EQ(error.at("type"), "invalid_request_error");
  EXPECT_TRUE(error.at("code").is_null());
  const auto missing = get(port, "/v1/responses/resp_x");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(json_of(missing.body).at("error").at("message"),
            "Response with id 'resp_x' not found.");
  engine.failure = Finish{FinishReason::kDeadline, kNoToken, "too late"};
  const auto failed = ask();
  EXPECT_EQ(failed.status, 503);
  EXPECT_EQ(json_of(failed.body).at("error").at("type"), "server_error");
}

TEST_F(ResponsesTest, tools_of_openais_servers_are_skipped) {
  answer_with(kAnswer);
  start();
  const auto with = [&](const std::string& fields) {
    const auto reply = ask(R"("tools":[{"type":"web_search"},{"type":"mcp","server_label":"m"},
        {"type":"namespace","name":"n","tools":[]},{"type":"local_shell"},
        {"type":"function","name":"f","parameters":{"type":"object"}}])" +
                           fields);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body);
  };
  const auto response = with("");
  EXPECT_EQ(response.at("tools").as_array().size(), 5U);
  EXPECT_EQ(response.at("tool_choice"), "auto");
  EXPECT_EQ(response.at("output").at(2).at("type"), "function_call");
  EXPECT_NE(last_prompt().find("[1 tools]"), std::string::npos);
  EXPECT_EQ(with(R"(,"tool_choice":{"type":"web_search"})").at("tool_choice"), "auto");
  for (const char* choice : {R"("required")", R"({"type":"mcp","server_label":"m","name":"x"})"}) {
    const auto none =
        ask(R"("tools":[{"type":"web_search"}],"tool_choice":)" + std::string(choice));
    ASSERT_EQ(none.status, 200) << none.body;
    EXPECT_EQ(json_of(none.body).at("tool_choice"), "auto");
    EXPECT_EQ(last_prompt(), "<|bos|><|user|>user:Hi<|assistant|>");
  }
  EXPECT_EQ(ask("", R"([{"role":"user","content":"A"},{"type":"web_search_call","id":"1"},
                        {"type":"mcp_list_tools"},{"type":"local_shell_call_output"}])")
                .status,
            200);
  EXPECT_EQ(last_prompt(), "<|bos|><|user|>user:A<|assistant|>");
}

TEST_F(ResponsesTest, a_choice_may_allow_some_of_the_tools) {
  start();
  const auto reply = ask(R"("tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],
      "tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"g"}]})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_NE(last_prompt().find("[1 tools]"), std::string::npos);
  EXPECT_EQ(json_of(reply.body).at("tool_choice").at("type"), "allowed_tools");
}

constexpr const char* kCustom =
    R"("tools":[{"type":"custom","name":"c","description":"Runs code.",
        "format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}}])";

TEST_F(ResponsesTest, custom_tools_take_a_text) {
  answer_with("<tool_call>{\"name\": \"c\", \"arguments\": {\"input\": \"a\\nb\"}}</tool_call>");
  engine.tokens_per_step = 3;
  start();
  const auto response = json_of(ask(kCustom).body);
  const auto& item = response.at("output").at(0);
  EXPECT_EQ(item.at("type"), "custom_tool_call");
  EXPECT_EQ(item.at("name"), "c");
  EXPECT_EQ(item.at("input"), "a\nb");
  EXPECT_TRUE(item.at("id").as_string().starts_with("ctc_"));

  std::map<std::string, std::string> texts;
  for (const auto& event : sse_events(ask(std::string(kCustom) + R"(,"stream":true)").body)) {
    const auto value = json_of(event);
    const std::string type(value.at("type").as_string());
    if (type == "response.custom_tool_call_input.delta")
      texts[type] += value.at("delta").as_string();
    if (type == "response.custom_tool_call_input.done")
      texts[type] += value.at("input").as_string();
    EXPECT_EQ(type.find("function_call"), std::string::npos);
  }
  EXPECT_EQ(texts.size(), 2U);
  for (const auto& [type, text] : texts) EXPECT_EQ(text, "a\nb") << type;
}

TEST_F(ResponsesTest, custom_calls_of_the_history_are_calls) {
  start();
  ASSERT_EQ(ask(kCustom, R"([{"role":"user","content":"A"},
      {"type":"custom_tool_call","call_id":"1","name":"c","input":"x"},
      {"type":"custom_tool_call_output","call_id":"1","output":"B"}])")
                .status,
            200);
  EXPECT_EQ(last_prompt(),
            "<|bos|><|user|>user:A<|assistant|><|eos|><|user|>tool:B[1 tools]<|assistant|>");
}

TEST_F(ResponsesTest, a_kept_answer_can_be_asked_for_and_deleted) {
  start();
  const auto whole = ask();
  const std::string path = "/v1/responses/" + std::string(json_of(whole.body).at("id").as_string());
  EXPECT_EQ(get(port, path).body, whole.body);
  EXPECT_EQ(get(port, path + "?stream=true").status, 400);
  EXPECT_EQ(get(port, path + "/cancel").status, 404);
  EXPECT_EQ(json_of(get(port, path + "/input_items").body).at("error").at("message"), "Not Found");
  EXPECT_EQ(post(port, path, "{}").status, 404);
  EXPECT_EQ(post(port, path + "/cancel", "{}").status, 400);  // it did not run in the background
  const auto deleted = remove(path);
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(json_of(deleted.body).at("deleted"), true);
  EXPECT_EQ(get(port, path).status, 404);
  EXPECT_EQ(remove(path).status, 404);
  EXPECT_EQ(post(port, path + "/cancel", "{}").status, 404);
}

TEST_F(ResponsesTest, faults_of_a_format_name_the_fields_that_were_sent) {
  start();
  const auto refusal = [&](const std::string& format) {
    const std::string body = R"({"model":"m","input":"A","text":{"format":)" + format + "}}";
    return json_of(post(port, "/v1/responses", body).body).at("error").at("message");
  };
  EXPECT_EQ(refusal(R"({"type":"json_schema","name":"n"})"),
            "body.text.format.schema: Field required");
  EXPECT_EQ(refusal(R"({"type":"xml"})"),
            "body.text.format.type: Input should be 'text', 'json_object' or 'json_schema'");
}

TEST_F(ResponsesTest, the_answer_of_a_stream_is_kept_too) {
  start();
  json::value last;
  for (const auto& event : sse_events(ask(R"("stream":true)").body)) last = json_of(event);
  const auto& response = last.at("response");
  const auto kept = get(port, "/v1/responses/" + std::string(response.at("id").as_string()));
  EXPECT_EQ(json_of(kept.body), response);
}

TEST_F(ResponsesTest, an_answer_in_the_background_is_asked_for_later) {
  engine.pace = std::chrono::milliseconds(5);
  start();
  const auto now = json_of(ask(R"("background":true)").body);
  EXPECT_EQ(now.at("status"), "queued");
  EXPECT_EQ(now.at("background"), true);
  const std::string id(now.at("id").as_string());
  const auto status = [&] { return json_of(get(port, "/v1/responses/" + id).body).at("status"); };
  EXPECT_TRUE(eventually([&] { return status() == "completed"; }));
  const auto whole = json_of(get(port, "/v1/responses/" + id).body);
  EXPECT_EQ(whole.at("output").at(0).at("content").at(0).at("text"), "Hello, world!");
  EXPECT_EQ(ask(R"("previous_response_id":")" + id + "\"").status, 200);
  // Over: nothing is left to cancel.
  EXPECT_EQ(json_of(post(port, "/v1/responses/" + id + "/cancel", "{}").body).at("status"),
            "completed");
}

TEST_F(ResponsesTest, an_answer_in_the_background_can_be_cancelled_or_deleted) {
  answer_with(std::string(400, 'x'));
  engine.pace = std::chrono::milliseconds(20);
  start();
  const auto begin = [&] {
    return "/v1/responses/" +
           std::string(json_of(ask(R"("background":true)").body).at("id").as_string());
  };
  const std::string path = begin();
  EXPECT_NE(ask(R"("previous_response_id":")" + path.substr(14) + "\"").body.find("not over yet"),
            std::string::npos);
  EXPECT_EQ(json_of(post(port, path + "/cancel", "{}").body).at("status"), "cancelled");
  EXPECT_EQ(json_of(post(port, path + "/cancel", "{}").body).at("status"), "cancelled");
  EXPECT_EQ(json_of(get(port, path).body).at("status"), "cancelled");
  const std::string other = begin();
  EXPECT_EQ(remove(other).status, 200);
  EXPECT_TRUE(eventually([&] { return engine.stats().running == 0; }));
  EXPECT_EQ(get(port, other).status, 404);
}

TEST_F(ResponsesTest, a_failure_in_the_background_is_told) {
  engine.failure = Finish{FinishReason::kDeadline, kNoToken, "too late"};
  start();
  const std::string id(json_of(ask(R"("background":true)").body).at("id").as_string());
  const auto kept = [&] { return json_of(get(port, "/v1/responses/" + id).body); };
  EXPECT_TRUE(eventually([&] { return kept().at("status") == "failed"; }));
  EXPECT_EQ(kept().at("error").at("message"), "too late");
}

TEST_F(ResponsesTest, a_server_that_ends_forgets_what_runs_in_the_background) {
  answer_with(std::string(400, 'x'));
  engine.pace = std::chrono::milliseconds(20);
  start();
  EXPECT_EQ(ask(R"("background":true)").status, 200);
  stop();
}

TEST_F(ResponsesTest, logprobs_are_those_of_the_text) {
  answer_with("<think>\nHm.\n</think>\n\nYes.");
  engine.tokens_per_step = 3;
  start();
  const std::string wish = R"("include":["message.output_text.logprobs"],"top_logprobs":2)";
  const auto response = json_of(ask(wish).body);
  const auto& content = response.at("output").at(1).at("content").at(0);
  ASSERT_EQ(content.at("logprobs").as_array().size(), 4U);
  std::string text;
  for (const auto& token : content.at("logprobs").as_array()) {
    text += token.at("token").as_string();
    EXPECT_TRUE(token.at("top_logprobs").is_array());
  }
  EXPECT_EQ(text, "Yes.");
  std::string streamed;
  for (const auto& event : sse_events(ask(wish + R"(,"stream":true)").body)) {
    const auto value = json_of(event);
    if (value.at("type") == "response.output_text.delta")
      for (const auto& token : value.at("logprobs").as_array())
        streamed += token.at("token").as_string();
    if (value.at("type") == "response.output_text.done") {
      EXPECT_EQ(value.at("logprobs").as_array().size(), 4U);
    }
  }
  EXPECT_EQ(streamed, "Yes.");
  EXPECT_TRUE(
      json_of(ask().body).at("output").at(1).at("content").at(0).at("logprobs").as_array().empty());
}

std::string text_of(std::size_t bytes) { return std::string(bytes, 'x'); }

KeptResponse kept(std::string answer, std::string messages = {}) {
  return {.answer = std::move(answer), .messages = std::move(messages), .running = {}};
}

TEST(ResponseStore, the_oldest_go_where_too_much_is_kept) {
  ResponseStore store;
  for (std::size_t i = 0; i < ResponseStore::kMostResponses + 3; ++i)
    store.put(std::to_string(i), kept("{}", "[]"));
  EXPECT_EQ(store.size(), ResponseStore::kMostResponses);
  EXPECT_FALSE(store.find("2"));
  EXPECT_TRUE(store.find("3"));
  store.put("half", kept(text_of(ResponseStore::kMostBytes / 2 + 1)));
  store.put("other", kept("", text_of(ResponseStore::kMostBytes / 2 + 1)));
  EXPECT_FALSE(store.find("half"));
  EXPECT_TRUE(store.find("other"));
  EXPECT_EQ(store.size(), 1U);
  store.put("huge", kept(text_of(ResponseStore::kMostBytes + 1)));
  EXPECT_FALSE(store.find("huge"));
  EXPECT_TRUE(store.find("other"));
}

TEST(ResponseStore, what_is_changed_counts_anew_and_what_was_removed_stays_away) {
  ResponseStore store;
  store.put("a", kept("1"));
  store.put("a", kept("2"));
  EXPECT_EQ(store.size(), 1U);
  EXPECT_EQ(store.find("a")->answer, "2");
  store.change("a",
               [](KeptResponse& now) { now.answer = text_of(ResponseStore::kMostBytes / 2 + 1); });
  store.put("b", kept(text_of(ResponseStore::kMostBytes / 2)));
  EXPECT_FALSE(store.find("a"));  // it had grown
  EXPECT_TRUE(store.remove("b"));
  EXPECT_FALSE(store.remove("b"));
  store.change("b", [](KeptResponse& now) { now.answer = "3"; });
  EXPECT_EQ(store.size(), 0U);
}

}  // namespace
}  // namespace foretoken
