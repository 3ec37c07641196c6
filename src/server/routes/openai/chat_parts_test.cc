// Reasoning and calls of tools in the answers of /v1/chat/completions, and the routes that take
// texts apart.

#include <gtest/gtest.h>

#include "base/log.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"string"}}}}},
                {"type":"function","function":{"name":"g"}}])";
constexpr const char* kCalls =
    "Look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";
constexpr const char* kThought = "<think>\nHm,\nso.\n</think>\n\nYes.";

class ChatPartsTest : public ServerTest {
 protected:
  ChatPartsTest() { config.tool_call_parser = "qwen25"; }

  json::value chat(const std::string& fields, std::string_view tools = kTools) {
    const auto reply = post(port, "/v1/chat/completions", body(fields, tools));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body).at("choices").at(0);
  }
  static std::string body(const std::string& fields, std::string_view tools) {
    std::string text = R"({"messages":[{"role":"user","content":"Hi"}])";
    if (!tools.empty()) text += "," + std::string(tools);
    if (!fields.empty()) text += "," + fields;
    return text + "}";
  }

  // A message put together from a stream's deltas, as clients do.
  struct Joined {
    std::string content, reasoning, finish;
    std::vector<std::string> ids, names, arguments;
    std::vector<json::value> chunks;
  };
  Joined stream(const std::string& fields, std::string_view tools = kTools) {
    const auto reply = post(port, "/v1/chat/completions",
                            body(R"("stream":true)" + (fields.empty() ? "" : "," + fields), tools));
    Joined out;
    for (const auto& event : sse_events(reply.body)) {
      if (event == "[DONE]") continue;
      out.chunks.push_back(json_of(event));
      if (out.chunks.back().at("choices").as_array().empty()) continue;
      const auto choice = out.chunks.back().at("choices").at(0);
      const auto& delta = choice.at("delta");
      if (delta.at("content").is_string()) out.content += delta.at("content").as_string();
      if (delta.at("reasoning_content").is_string())
        out.reasoning += delta.at("reasoning_content").as_string();
      if (choice.at("finish_reason").is_string())
        out.finish = choice.at("finish_reason").as_string();
      if (delta.at("tool_calls").is_null()) continue;
      const auto& call = delta.at("tool_calls").at(0);
      const auto index = static_cast<std::size_t>(call.at("index").as_int64());
      if (call.as_object().contains("id")) {
        EXPECT_EQ(index, out.ids.size());
        out.ids.emplace_back(call.at("id").as_string());
        out.names.emplace_back(call.at("function").at("name").as_string());
        out.arguments.emplace_back();
      }
      out.arguments.at(index) += call.at("function").at("arguments").as_string();
    }
    return out;
  }
};

TEST_F(ChatPartsTest, calls_are_taken_out_of_the_text) {
  answer_with(kCalls);
  start();
  const auto choice = chat("");
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_EQ(choice.at("message").at("content"), "Look.");
  const auto& calls = choice.at("message").at("tool_calls").as_array();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].at("type"), "function");
  EXPECT_EQ(calls[0].at("function").at("name"), "f");
  EXPECT_EQ(calls[0].at("function").at("arguments"), R"({"a": "x"})");
  EXPECT_EQ(calls[1].at("index"), 1);
  EXPECT_TRUE(calls[0].at("id").as_string().starts_with("call_"));
  EXPECT_NE(calls[0].at("id"), calls[1].at("id"));
}

TEST_F(ChatPartsTest, a_stream_of_calls_joins_to_the_whole_answer) {
  answer_with(kCalls);
  for (const int step : {1, 7, 1000}) {
    engine.tokens_per_step = step;
    if (port == 0) start();
    const auto out = stream(R"("logprobs":true,"stream_options":{"include_usage":true})");
    EXPECT_EQ(out.content, "Look.");
    EXPECT_EQ(out.names, (std::vector<std::string>{"f", "g"}));
    EXPECT_EQ(out.arguments, (std::vector<std::string>{R"({"a": "x"})", "{}"}));
    EXPECT_EQ(out.finish, "tool_calls");
    std::size_t logprobs = 0;
    for (const auto& chunk : out.chunks)
      if (!chunk.at("choices").as_array().empty() &&
          chunk.at("choices").at(0).at("logprobs").is_object())
        logprobs += chunk.at("choices").at(0).at("logprobs").at("content").as_array().size();
    EXPECT_EQ(logprobs, std::string(kCalls).size() + 1);
  }
}

TEST_F(ChatPartsTest, a_call_alone_has_no_content) {
  answer_with("<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>");
  start();
  EXPECT_TRUE(chat("").at("message").at("content").is_null());
}

TEST_F(ChatPartsTest, without_tools_or_with_none_of_them_calls_are_text) {
  answer_with(kCalls);
  start();
  for (const auto& choice : {chat("", ""), chat(R"("tool_choice":"none")")}) {
    EXPECT_EQ(choice.at("message").at("content"), kCalls);
    EXPECT_TRUE(choice.at("message").at("tool_calls").is_null());
    EXPECT_EQ(choice.at("finish_reason"), "stop");
  }
}

TEST_F(ChatPartsTest, one_call_at_most_where_none_may_be_parallel) {
  answer_with(kCalls);
  start();
  const auto choice = chat(R"("parallel_tool_calls":false)");
  EXPECT_EQ(choice.at("message").at("tool_calls").as_array().size(), 1U);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  const auto out = stream(R"("parallel_tool_calls":false,"stream_options":{"include_usage":true})");
  EXPECT_EQ(out.names, std::vector<std::string>{"f"});
  EXPECT_EQ(out.finish, "tool_calls");
  // Nothing behind the call is counted.
  EXPECT_EQ(out.chunks.back().at("usage").at("completion_tokens"),
            std::string_view(kCalls).find("\n</tool_call>"));
  EXPECT_TRUE(eventually([&] { return engine.running() == 0; }));
}

TEST_F(ChatPartsTest, a_call_that_the_limit_cuts_is_shown_as_far_as_it_goes) {
  answer_with(kCalls);
  start();
  const auto choice = chat(R"("max_tokens":60)");
  EXPECT_EQ(choice.at("finish_reason"), "length");
  EXPECT_EQ(choice.at("message").at("tool_calls").at(0).at("function").at("arguments").as_string(),
            stream(R"("max_tokens":60)").arguments.at(0));
}

TEST_F(ChatPartsTest, a_malformed_call_is_text) {
  set_log_level(LogLevel::kOff);
  answer_with("<tool_call>{\"name\":\"unknown\"}</tool_call>");
  start();
  for (const std::string fields : {"", R"("stop":"</")"})
    EXPECT_TRUE(chat(fields).at("message").at("tool_calls").is_null());
  const auto out = stream("");
  EXPECT_EQ(out.content, "<tool_call>{\"name\":\"unknown\"}</tool_call>");
  EXPECT_EQ(out.finish, "stop");
  set_log_level(LogLevel::kInfo);
}

TEST_F(ChatPartsTest, calls_and_results_of_earlier_turns_reach_the_template) {
  start();
  const auto reply = [&](const std::string& call) {
    return post(port, "/v1/chat/completions",
                R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,
                   "tool_calls":[)" +
                    call + R"(]},{"role":"tool","tool_call_id":"1","content":"ok"}]})");
  };
  EXPECT_EQ(
      reply(R"({"id":"1","type":"function","function":{"name":"f","arguments":"{}"}})").status,
      200);
  for (const auto& [call, fault] : std::vector<std::pair<std::string, std::string>>{
           {"1", "body.messages.1.tool_calls.0: Input should be a valid dictionary"},
           {"{}", "body.messages.1.tool_calls.0.function: Field required"},
           {R"({"function":{}})", "body.messages.1.tool_calls.0.function.name: Field required"},
           {R"({"function":{"name":"f","arguments":5}})",
            "arguments: Input should be a valid string"}})
    EXPECT_NE(reply(call).body.find(fault), std::string::npos) << reply(call).body;
}

TEST_F(ChatPartsTest, arguments_of_earlier_calls_are_objects) {
  start();
  const auto reply = [&](const std::string& arguments) {
    return post(port, "/v1/chat/completions",
                R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant",
                   "tool_calls":[{"function":{"name":"f","arguments":)" +
                    arguments + R"(}}]},{"role":"tool","content":"ok"}]})");
  };
  for (const char* arguments : {R"("{\"a\": [1]}")", R"(" {} ")", R"("")", "{}", R"({"a":1})"})
    EXPECT_EQ(reply(arguments).status, 200) << arguments;
  for (const auto& [arguments, found] : std::vector<std::pair<std::string, std::string>>{
           {R"(["x"])", "Input should be a valid string (found list)"},
           {R"("[\"x\"]")", "Input should be the text of a JSON object (found list)"},
           {R"("\"x\"")", "Input should be the text of a JSON object (found string)"},
           {R"("null")", "Input should be the text of a JSON object (found null)"},
           {R"("x")", "Input should be the text of a JSON object (found no JSON)"},
           {R"("{\"a\":")", "Input should be the text of a JSON object (found no JSON)"}}) {
    const auto refused = reply(arguments);
    EXPECT_EQ(refused.status, 400) << arguments;
    EXPECT_NE(refused.body.find("body.messages.1.tool_calls.0.function.arguments: " + found),
              std::string::npos)
        << refused.body;
  }
}

TEST_F(ChatPartsTest, a_message_without_content_says_what_is_wrong) {
  start();
  for (const auto& [message, fault] : std::vector<std::pair<std::string, std::string>>{
           {R"({"role":"user","content":null})",
            "body.messages.0.content: Input should be a valid string or list (found null)"},
           {R"({"role":"user"})", "body.messages.0.content: Field required"}}) {
    const auto refused = post(port, "/v1/chat/completions", R"({"messages":[)" + message + "]}");
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find(fault), std::string::npos) << refused.body;
  }
}

TEST_F(ChatPartsTest, reasoning_is_told_from_the_answer) {
  config.reasoning_parser = "qwen3";
  answer_with(kThought);
  start();
  const auto whole = json_of(post(port, "/v1/chat/completions", body("", "")).body);
  const auto& message = whole.at("choices").at(0).at("message");
  EXPECT_EQ(message.at("reasoning_content"), "Hm,\nso.");
  EXPECT_EQ(message.at("content"), "Yes.");
  const auto thought = static_cast<std::int64_t>(std::string_view(kThought).find("\n\nYes"));
  EXPECT_EQ(whole.at("usage").at("reasoning_tokens"), thought);
  EXPECT_EQ(whole.at("usage").at("completion_tokens_details").at("reasoning_tokens"), thought);
  const auto out = stream(R"("stream_options":{"include_usage":true})", "");
  EXPECT_EQ(out.reasoning, "Hm,\nso.");
  EXPECT_EQ(out.content, "Yes.");
  EXPECT_EQ(out.chunks.back().at("usage").at("reasoning_tokens"), thought);
}

TEST_F(ChatPartsTest, reasoning_stays_where_the_request_wants_it) {
  config.reasoning_parser = "qwen3";
  answer_with(kThought);
  start();
  EXPECT_EQ(chat(R"("separate_reasoning":false)", "").at("message").at("content"), kThought);
  const auto out = stream(R"("stream_reasoning":false)", "");
  EXPECT_EQ(out.reasoning, "Hm,\nso.");
  EXPECT_EQ(out.content, "Yes.");
  int pieces = 0;
  for (const auto& chunk : out.chunks)
    if (chunk.at("choices").at(0).at("delta").at("reasoning_content").is_string()) ++pieces;
  EXPECT_EQ(pieces, 1);
}

TEST_F(ChatPartsTest, thinking_that_is_switched_off_leaves_all_of_it_text) {
  config.reasoning_parser = "deepseek-r1";
  answer_with("Yes.");
  start();
  EXPECT_EQ(chat("", "").at("message").at("reasoning_content"), "Yes.");
  for (const char* name : {"enable_thinking", "thinking"})
    EXPECT_EQ(chat(R"("chat_template_kwargs":{")" + std::string(name) + "\":false}", "")
                  .at("message")
                  .at("content"),
              "Yes.");
}

TEST_F(ChatPartsTest, reasoning_and_calls_stand_side_by_side) {
  config.reasoning_parser = "qwen3";
  answer_with(std::string(kThought) + kCalls);
  start();
  const auto out = stream("");
  EXPECT_EQ(out.reasoning, "Hm,\nso.");
  EXPECT_EQ(out.content, "Yes.Look.");
  EXPECT_EQ(out.names.size(), 2U);
}

TEST_F(ChatPartsTest, texts_are_taken_apart_on_request) {
  start();
  const auto calls = json_of(post(port, "/parse_function_call",
                                  R"({"tool_call_parser":"pythonic","text":"[g(), f(a='b')]",)" +
                                      std::string(kTools) + "}")
                                 .body);
  EXPECT_EQ(calls.at("normal_text"), "");
  EXPECT_EQ(calls.at("calls").at(1),
            json::parse(R"({"tool_index":0,"name":"f","parameters":"{\"a\": \"b\"}"})"));
  const auto thought = json_of(
      post(port, "/separate_reasoning", R"({"text":"a</think>b","reasoning_parser":"deepseek-r1"})")
          .body);
  EXPECT_EQ(thought, json::parse(R"({"reasoning_text":"a","text":"b"})"));
  EXPECT_EQ(json_of(post(port, "/parse_function_call",
                         R"({"text":"<tool_call>{\"name\":\"g\"}",)" + std::string(kTools) + "}")
                        .body)
                .at("calls")
                .as_array()
                .size(),
            1U);
  for (const auto& [path, text, fault] : std::vector<std::array<std::string, 3>>{
           {"/separate_reasoning", R"({"text":"a"})",
            "body.reasoning_parser: Input should be one of"},
           {"/separate_reasoning", R"({"text":"a","reasoning_parser":"x"})", "(found 'x')"},
           {"/separate_reasoning", R"({"reasoning_parser":"qwen3"})", "body.text: Field required"},
           {"/parse_function_call", R"({"text":"a"})", "body.tools: Field required"},
           {"/parse_function_call", R"({"text":"a","tools":[{}]})", "body.tools.0.function"},
           {"/parse_function_call", R"({"text":"a","tools":[],"tool_call_parser":"x"})", "'x'"}}) {
    const auto reply = post(port, path, text);
    EXPECT_EQ(reply.status, 400);
    EXPECT_NE(reply.body.find(fault), std::string::npos) << reply.body;
  }
}

TEST_F(ChatPartsTest, the_parsers_are_shown_with_the_model) {
  config.reasoning_parser = "qwen3";
  start();
  const auto info = json_of(get(port, "/model_info").body);
  EXPECT_EQ(info.at("reasoning_parser"), "qwen3");
  EXPECT_EQ(info.at("tool_call_parser"), "qwen25");
}

}  // namespace
}  // namespace foretoken
