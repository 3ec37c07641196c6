#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr const char* kAnswer =
    "<think>\nHm.\n</think>\n\nLook.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
    "\"x\"}}\n</tool_call>";
constexpr const char* kTool =
    R"("tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{"a":{"type":"string"}}}}])";

class MessagesTest : public ServerTest {
 protected:
  MessagesTest() {
    config.tool_call_parser = "qwen25";
    config.reasoning_parser = "qwen3";
  }
  static std::string body(const std::string& fields,
                          const std::string& messages = R"([{"role":"user","content":"Hi"}])") {
    return R"({"model":"any","max_tokens":200,"messages":)" + messages +
           (fields.empty() ? "" : "," + fields) + "}";
  }
  ClientReply ask(const std::string& fields = {}) {
    return post(port, "/v1/messages", body(fields));
  }
  std::string prompt_of(const std::string& whole_body) {
    const auto reply = post(port, "/v1/messages", whole_body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return tokenizer().decode(engine.received().back().prompt, SpecialText::kKeep);
  }
  std::string refusal_of(const std::string& whole_body) {
    const auto reply = post(port, "/v1/messages", whole_body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    const auto value = json_of(reply.body);
    EXPECT_EQ(value.at("type"), "error");
    EXPECT_EQ(value.at("error").at("type"), "invalid_request_error");
    return std::string(value.at("error").at("message").as_string());
  }
  // The events of a stream: each has its name twice.
  std::vector<json::value> stream(const std::string& fields) {
    const auto reply = ask(R"("stream":true)" + (fields.empty() ? "" : "," + fields));
    EXPECT_EQ(reply.body.find("[DONE]"), std::string::npos);
    std::vector<json::value> events;
    for (const auto& event : sse_events(reply.body)) {
      events.push_back(json_of(event));
      const std::string name(events.back().at("type").as_string());
      EXPECT_NE(reply.body.find("event: " + name + "\ndata: "), std::string::npos);
    }
    return events;
  }
};

TEST_F(MessagesTest, an_answer_is_a_list_of_blocks) {
  answer_with(kAnswer);
  start();
  const auto message = json_of(ask(kTool).body);
  EXPECT_EQ(message.at("type"), "message");
  EXPECT_EQ(message.at("role"), "assistant");
  EXPECT_TRUE(message.at("id").as_string().starts_with("msg_"));
  const auto& content = message.at("content").as_array();
  ASSERT_EQ(content.size(), 3U);
  EXPECT_EQ(content[0], json::parse(R"({"type":"thinking","thinking":"Hm.","signature":""})"));
  EXPECT_EQ(content[1], json::parse(R"({"type":"text","text":"Look."})"));
  EXPECT_EQ(content[2].at("type"), "tool_use");
  EXPECT_EQ(content[2].at("name"), "f");
  EXPECT_EQ(content[2].at("input"), json::parse(R"({"a":"x"})"));
  EXPECT_EQ(message.at("stop_reason"), "tool_use");
  EXPECT_TRUE(message.at("stop_sequence").is_null());
  EXPECT_EQ(message.at("usage").at("input_tokens"), engine.received().at(0).prompt.size());
  EXPECT_EQ(message.at("usage").at("output_tokens"), std::string(kAnswer).size() + 1);
}

TEST_F(MessagesTest, there_are_as_many_calls_as_there_may_be) {
  const std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
  answer_with(call + "\n" + call);
  start();
  const auto calls = [&](const std::string& choice) {
    const auto message = json_of(ask(std::string(kTool) + choice).body);
    return message.at("content").as_array().size();
  };
  EXPECT_EQ(calls(""), 2U);
  EXPECT_EQ(calls(R"(,"tool_choice":{"type":"auto"})"), 2U);
  EXPECT_EQ(calls(R"(,"tool_choice":{"type":"auto","disable_parallel_tool_use":false})"), 2U);
  EXPECT_EQ(calls(R"(,"tool_choice":{"type":"auto","disable_parallel_tool_use":true})"), 1U);
}

TEST_F(MessagesTest, a_budget_for_thoughts_is_less_than_all_tokens) {
  start();
  const auto status = [&](int most, int budget) {
    return post(port, "/v1/messages",
                R"({"model":"any","messages":[{"role":"user","content":"Hi"}],"max_tokens":)" +
                    std::to_string(most) + R"(,"thinking":{"type":"enabled","budget_tokens":)" +
                    std::to_string(budget) + "}}")
        .status;
  };
  EXPECT_EQ(status(1025, 1024), 200);
  EXPECT_EQ(status(1024, 1024), 400);
  EXPECT_EQ(status(2000, 1023), 400);
}

TEST_F(MessagesTest, an_aborted_answer_may_be_continued) {
  engine.failure = Finish{FinishReason::kCancelled, kNoToken, {}};
  engine.failure_after = 3;
  answer_with("Look.");
  start();
  const auto message = json_of(ask().body);
  EXPECT_EQ(message.at("stop_reason"), "pause_turn");
  EXPECT_TRUE(message.at("stop_sequence").is_null());
  EXPECT_EQ(message.at("content").at(0).at("text"), "Loo");
  const auto events = stream("");
  EXPECT_EQ(events[events.size() - 2].at("delta").at("stop_reason"), "pause_turn");
}

TEST_F(MessagesTest, a_stream_opens_fills_and_closes_each_block) {
  answer_with(kAnswer);
  engine.tokens_per_step = 3;
  start();
  const auto events = stream(kTool);
  ASSERT_GT(events.size(), 8U);
  EXPECT_EQ(events.front().at("type"), "message_start");
  EXPECT_TRUE(events.front().at("message").at("content").as_array().empty());
  std::vector<std::string> texts, kinds;
  bool open = false;
  for (const auto& event : events) {
    const auto& type = event.at("type").as_string();
    if (type == "content_block_start") {
      EXPECT_FALSE(open);
      open = true;
      EXPECT_EQ(event.at("index"), texts.size());
      kinds.emplace_back(event.at("content_block").at("type").as_string());
      texts.emplace_back();
    } else if (type == "content_block_delta") {
      EXPECT_TRUE(open);
      for (const char* name : {"text", "thinking", "partial_json"})
        if (const auto* text = event.at("delta").as_object().if_contains(name))
          texts.back() += text->as_string();
    } else if (type == "content_block_stop") {
      EXPECT_TRUE(open);
      open = false;
    }
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"thinking", "text", "tool_use"}));
  EXPECT_EQ(texts, (std::vector<std::string>{"Hm.", "Look.", R"({"a": "x"})"}));
  EXPECT_FALSE(open);
  EXPECT_EQ(events[events.size() - 2].at("delta").at("stop_reason"), "tool_use");
  EXPECT_EQ(events.back().at("type"), "message_stop");
}

TEST_F(MessagesTest, the_reason_of_the_end_is_told) {
  start();
  EXPECT_EQ(json_of(ask().body).at("stop_reason"), "end_turn");
  const auto stopped = json_of(ask(R"("stop_sequences":["wor"])").body);
  EXPECT_EQ(stopped.at("stop_reason"), "stop_sequence");
  EXPECT_EQ(stopped.at("stop_sequence"), "wor");
  EXPECT_EQ(stopped.at("content").at(0).at("text"), "Hello, ");
  const auto cut = json_of(
      post(port, "/v1/messages", R"({"max_tokens":3,"messages":[{"role":"user","content":"Hi"}]})")
          .body);
  EXPECT_EQ(cut.at("stop_reason"), "max_tokens");
}

TEST_F(MessagesTest, a_conversation_reaches_the_template) {
  start();
  EXPECT_EQ(prompt_of(body(R"("system":[{"type":"text","text":"Be brief."}])",
                           R"([{"role":"user","content":[{"type":"text","text":"A"}]},
           {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},
              {"type":"text","text":"B"},{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"1",
              "content":[{"type":"text","text":"C"}]},{"type":"text","text":"D"}]}])")),
            "<|bos|><|user|>system:Be brief.<|user|>user:A<|assistant|>B<|eos|><|user|>tool:C"
            "<|user|>user:D<|assistant|>");
  EXPECT_EQ(
      prompt_of(body("", R"([{"role":"user","content":"A"},{"role":"assistant","content":"B"}])")),
      "<|bos|><|user|>user:A<|assistant|>B");
}

TEST_F(MessagesTest, thinking_is_off_unless_asked_for) {
  config.context_length = 4096;
  start();
  EXPECT_EQ(prompt_of(body("")).find("[thinking]"), std::string::npos);
  EXPECT_NE(prompt_of(R"({"max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":1024},
                          "messages":[{"role":"user","content":"Hi"}]})")
                .find("[thinking]"),
            std::string::npos);
}

TEST_F(MessagesTest, what_anthropic_refuses_beside_thinking_is_refused) {
  start();
  const auto with = [](const std::string& thinking, const std::string& fields) {
    return R"({"max_tokens":2048,"messages":[{"role":"user","content":"Hi"}],"thinking":)" +
           thinking + "," + fields + "}";
  };
  for (const char* thinking :
       {R"({"type":"enabled","budget_tokens":1024})", R"({"type":"adaptive"})"})
    for (const auto& [fields, fault] : std::vector<std::pair<std::string, std::string>>{
             {R"("temperature":0.5)", "body.temperature: may only be set to 1"},
             {R"("top_k":5)", "body.top_k: must be unset"},
             {R"("top_p":0.9)", "body.top_p: must be between 0.95 and 1"},
             {R"("tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any"})",
              "body.tool_choice: thinking may not be enabled"}}) {
      const std::string refusal = refusal_of(with(thinking, fields));
      EXPECT_NE(refusal.find(fault), std::string::npos) << refusal;
    }
  EXPECT_NE(refusal_of(with(R"({"type":"disabled","budget_tokens":1024})", R"("top_k":5)"))
                .find("body.thinking.budget_tokens: not allowed where type is 'disabled'"),
            std::string::npos);
  EXPECT_EQ(
      post(port, "/v1/messages", with(R"({"type":"adaptive"})", R"("temperature":1,"top_p":0.95)"))
          .status,
      200);
  EXPECT_EQ(post(port, "/v1/messages", with(R"({"type":"disabled"})", R"("top_k":5)")).status, 200);
}

TEST_F(MessagesTest, what_changes_nothing_here_is_accepted) {
  start();
  for (const char* fields :
       {R"("container":"c","mcp_servers":[],"context_management":{"edits":[]})",
        R"("context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]})",
        R"("tools":[{"type":"web_search_20250305","name":"w"}],"tool_choice":{"type":"any"})",
        R"("tools":[{"type":"web_search_20250305","name":"w"}],
           "tool_choice":{"type":"tool","name":"w"})",
        R"("output_config":{"effort":"low"})"})
    EXPECT_EQ(prompt_of(body(fields)), "<|bos|><|user|>user:Hi<|assistant|>") << fields;
}

TEST_F(MessagesTest, other_blocks_that_are_texts_reach_the_template) {
  start();
  EXPECT_EQ(prompt_of(body("", R"([{"role":"system","content":"S"},
           {"role":"user","content":[
              {"type":"search_result","title":"t","source":"s","content":[{"type":"text","text":"A"}]},
              {"type":"document","title":"d","source":{"type":"text","media_type":"text/plain",
               "data":"B"}}]},
           {"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},
              {"type":"server_tool_use","id":"0","name":"web_search","input":{}},
              {"type":"web_search_tool_result","tool_use_id":"0","content":[]},
              {"type":"text","text":"C"},{"type":"tool_use","id":"1","name":"f","input":{}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[
              {"type":"text","text":"D"},
              {"type":"search_result","title":"u","source":"v","content":[{"type":"text","text":"E"}]}
           ]}]},
           {"role":"system","content":[{"type":"text","text":"T"}]}])")),
            "<|bos|><|user|>system:S<|user|>user:t (s)\nA d\nB<|assistant|>C<|eos|>"
            "<|user|>tool:D\nu (v)\nE<|user|>system:T<|assistant|>");
  EXPECT_EQ(prompt_of(body("", R"([{"role":"user","content":"A"},
           {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[
              {"type":"tool_reference","tool_name":"g"}]}]}])")),
            "<|bos|><|user|>user:A<|assistant|><|eos|><|user|>tool:g<|assistant|>");
}

TEST_F(MessagesTest, tokens_are_counted_as_a_prompt_has_them) {
  start();
  const std::string messages = R"("system":"s","messages":[{"role":"user","content":"Hi"}])";
  const auto count = json_of(post(port, "/v1/messages/count_tokens", "{" + messages + "}").body);
  const auto message =
      json_of(post(port, "/v1/messages", "{\"max_tokens\":1," + messages + "}").body);
  EXPECT_EQ(count.at("input_tokens"), message.at("usage").at("input_tokens"));
  EXPECT_EQ(json_of(post(port, "/v1/messages/count_tokens", "{}").body).at("error").at("message"),
            "body.messages: Field required");
}

TEST_F(MessagesTest, a_key_may_come_in_a_header_of_its_own) {
  config.api_key = "secret";
  start();
  EXPECT_EQ(post(port, "/v1/messages", body(""), "x-api-key: secret\r\n").status, 200);
  EXPECT_EQ(post(port, "/v1/messages", body(""), "x-api-key: other\r\n").status, 401);
}

TEST_F(MessagesTest, what_is_wrong_is_refused_with_its_place) {
  start();
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {R"({"messages":[{"role":"user","content":"Hi"}]})", "body.max_tokens: Field required"},
           {body("", "[]"), "at least 1 item"},
           {body("", R"([{"role":"king","content":"x"}])"),
            "body.messages.0.role: Input should be 'user', 'assistant' or 'system' (found 'king')"},
           {body("",
                 R"([{"role":"user","content":[{"type":"document","source":{"type":"base64"}}]}])"),
            "body.messages.0.content.0.source.type: documents of type 'base64'"},
           {body("", R"([{"role":"user","content":[{"type":"search_result","title":"t"}]}])"),
            "body.messages.0.content.0.source: Field required"},
           {body("", R"([{"role":"user"}])"), "body.messages.0.content: Field required"},
           {body("", R"([{"role":"user","content":[{"type":"image","source":{}}]}])"),
            "body.messages.0.content.0: content of type 'image' is not supported"},
           {body("", R"([{"role":"assistant","content":[{"type":"tool_use","id":"1"}]}])"),
            "body.messages.0.content.0.name: Field required"},
           {body(R"("context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]})"),
            "body.context_management.edits.0: edits of type 'clear_tool_uses_20250919'"},
           {body(R"("context_management":{"edits":[{"type":"clear_thinking_20251015"}]})"),
            "edits of type 'clear_thinking_20251015'"},
           {body(R"("tools":[{"name":"f"}])"), "body.tools.0.input_schema: Field required"},
           {body(R"("tool_choice":{"type":"maybe"})"), "body.tool_choice.type"},
           {body(R"("thinking":{"type":"enabled"})"),
            "body.thinking.budget_tokens: Field required"},
           {body(R"("thinking":{"type":"enabled","budget_tokens":5})"), "at least 1024"},
           {body(R"("thinking":{"type":"enabled","budget_tokens":1024})"), "less than max_tokens"},
           {body(R"("mcp_servers":[{}])"), "mcp_servers is not supported"},
           {body(R"("stop":["x"])"), "use stop_sequences"},
           {body(R"("temperature":-1)"), "temperature must be"}}) {
    const std::string refusal = refusal_of(text);
    EXPECT_NE(refusal.find(fault), std::string::npos) << text << ": " << refusal;
  }
}

TEST_F(MessagesTest, failures_are_worded_as_clients_of_this_route_know_them) {
  engine.failure = Finish{FinishReason::kDeadline, kNoToken, "too late"};
  start();
  const auto reply = ask();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(json_of(reply.body).at("error").at("type"), "overloaded_error");
}

TEST_F(MessagesTest, a_failure_in_a_stream_is_an_error_event) {
  engine.failure = Finish{FinishReason::kDeadline, kNoToken, "too late"};
  engine.failure_after = 10;
  engine.pace = std::chrono::milliseconds(10);
  start();
  const auto events = stream("");
  EXPECT_EQ(events.back().at("error").at("message"), "too late");
}

}  // namespace
}  // namespace foretoken
