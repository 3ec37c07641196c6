#include <set>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "server/chat/chat_prompt.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

class ChatTest : public ServerTest {
 protected:
  ClientReply chat(const std::string& fields = {}) {
    return post(port, "/v1/chat/completions",
                R"({"model":"any","messages":[{"role":"user","content":"Hi"}])" +
                    (fields.empty() ? "" : "," + fields) + "}");
  }
  std::string refusal_of(const std::string& fields) {
    const auto reply = chat(fields);
    EXPECT_EQ(reply.status, 400) << fields;
    const auto body = json_of(reply.body);
    EXPECT_EQ(body.at("object"), "error");
    EXPECT_EQ(body.at("type"), "BadRequestError");
    EXPECT_EQ(body.at("code"), 400);
    return std::string(body.at("message").as_string());
  }
  // Streams; [DONE] must come last. The parsed chunks before it.
  std::vector<json::value> stream(const std::string& fields) {
    const auto reply = chat(R"("stream":true)" + (fields.empty() ? "" : "," + fields));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_NE(reply.head.find("content-type: text/event-stream"), std::string::npos);
    auto events = sse_events(reply.body);
    EXPECT_TRUE(!events.empty() && events.back() == "[DONE]") << reply.body;
    if (!events.empty()) events.pop_back();
    std::vector<json::value> out;
    for (const auto& event : events) out.push_back(json_of(event));
    return out;
  }
  static std::string content_of(const std::vector<json::value>& chunks, int index = 0) {
    std::string text;
    for (const auto& chunk : chunks)
      for (const auto& choice : chunk.at("choices").as_array())
        if (choice.at("index") == index && choice.at("delta").at("content").is_string())
          text += choice.at("delta").at("content").as_string();
    return text;
  }
};

TEST_F(ChatTest, a_question_gets_the_whole_answer) {
  start();
  const auto reply = chat();
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto body = json_of(reply.body);
  EXPECT_EQ(body.at("object"), "chat.completion");
  EXPECT_EQ(body.at("model"), "any");
  const auto& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("content"), "Hello, world!");
  EXPECT_EQ(choice.at("message").at("role"), "assistant");
  EXPECT_TRUE(choice.at("message").at("reasoning_content").is_null());
  EXPECT_TRUE(choice.at("message").at("tool_calls").is_null());
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("matched_stop"), kByteEos);
  EXPECT_TRUE(choice.at("logprobs").is_null());
  const auto prompt = engine.received().at(0).prompt;
  EXPECT_EQ(tokenizer().decode(prompt, SpecialText::kKeep), "<|bos|><|user|>user:Hi<|assistant|>");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), prompt.size());
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 14);  // the stop token counts
  EXPECT_EQ(body.at("usage").at("total_tokens"), 14 + prompt.size());
  EXPECT_TRUE(body.at("usage").at("prompt_tokens_details").is_null());
  EXPECT_EQ(body.at("metadata").at("weight_version"), "default");
}

TEST_F(ChatTest, more_than_twenty_alternatives_are_refused) {
  start();
  EXPECT_EQ(chat(R"("logprobs":true,"top_logprobs":20,"max_tokens":1)").status, 200);
  EXPECT_EQ(refusal_of(R"("logprobs":true,"top_logprobs":21)"),
            "top_logprobs must be in [0, 20], got 21.");
  EXPECT_EQ(post(port, "/v1/completions", R"({"prompt":"x","logprobs":21})").status, 400);
}

TEST_F(ChatTest, without_a_limit_the_context_is_the_limit) {
  start();
  ASSERT_EQ(chat(R"("ignore_eos":true)").status, 200);
  const Request request = engine.received().at(0);
  EXPECT_EQ(request.max_new_tokens, 512 - static_cast<int>(request.prompt.size()));
  EXPECT_TRUE(request.sampling.stop_tokens.empty());
}

TEST_F(ChatTest, cached_tokens_are_reported_where_the_server_is_set_so) {
  config.enable_cache_report = true;
  start();
  const auto body = json_of(chat().body);
  EXPECT_EQ(body.at("usage").at("prompt_tokens_details").at("cached_tokens"), 1);
}

TEST_F(ChatTest, a_stream_begins_with_the_role_and_ends_with_the_reason) {
  start();
  const auto chunks = stream(R"("stream_options":{"include_usage":true})");
  ASSERT_GE(chunks.size(), 4U);
  EXPECT_EQ(chunks.front().at("object"), "chat.completion.chunk");
  EXPECT_EQ(chunks.front().at("choices").at(0).at("delta").at("role"), "assistant");
  EXPECT_EQ(chunks.front().at("choices").at(0).at("delta").at("content"), "");
  EXPECT_EQ(content_of(chunks), "Hello, world!");
  const auto& last = chunks[chunks.size() - 2].at("choices").at(0);
  EXPECT_EQ(last.at("finish_reason"), "stop");
  EXPECT_EQ(last.at("matched_stop"), kByteEos);
  EXPECT_TRUE(last.at("delta").at("content").is_null());
  EXPECT_TRUE(chunks.back().at("choices").as_array().empty());
  EXPECT_EQ(chunks.back().at("usage").at("completion_tokens"), 14);
  for (std::size_t i = 0; i + 1 < chunks.size(); ++i) EXPECT_TRUE(chunks[i].at("usage").is_null());
}

TEST_F(ChatTest, continuous_usage_counts_up) {
  start();
  std::int64_t before = 0;
  for (const auto& chunk : stream(R"("stream_options":{"continuous_usage_stats":true})")) {
    const auto count = chunk.at("usage").at("completion_tokens").as_int64();
    EXPECT_GE(count, before);
    before = count;
  }
  EXPECT_EQ(before, 14);
}

TEST_F(ChatTest, a_stream_never_holds_half_a_character) {
  answer_with("caf\xC3\xA9 \xF0\x9F\x98\x80 \xE2\x82\xAC!");
  start();
  const auto chunks = stream("");
  EXPECT_EQ(content_of(chunks), "caf\xC3\xA9 \xF0\x9F\x98\x80 \xE2\x82\xAC!");
  for (const auto& chunk : chunks)
    for (const auto& choice : chunk.at("choices").as_array())
      if (choice.at("delta").at("content").is_string()) {
        EXPECT_EQ(choice.at("delta").at("content").as_string().find("\xEF\xBF\xBD"),
                  json::string::npos);
      }
}

TEST_F(ChatTest, an_answer_cut_inside_a_character_ends_with_a_replacement) {
  answer_with("\xE2\x82\xAC");
  start();
  const auto body = json_of(chat(R"("max_tokens":2)").body);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "\xEF\xBF\xBD");
  EXPECT_EQ(content_of(stream(R"("max_tokens":2)")), "\xEF\xBF\xBD");
}

TEST_F(ChatTest, a_stop_string_across_tokens_is_neither_shown_nor_counted_beyond) {
  engine.tokens_per_step = 5;  // the round that completes it brings more tokens
  start();
  const auto body = json_of(chat(R"("stop":["xyz","wor"])").body);
  const auto& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("content"), "Hello, ");
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("matched_stop"), "wor");
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 10);  // "Hello, wor"
  const auto chunks = stream(R"("stop":"wor")");
  EXPECT_EQ(content_of(chunks), "Hello, ");
  EXPECT_EQ(chunks.back().at("choices").at(0).at("matched_stop"), "wor");
}

TEST_F(ChatTest, a_found_stop_string_cancels_the_sequence) {
  answer = std::vector<Token>(10000, 'a');
  answer[20] = '!';
  config.context_length = 100000;
  start();
  EXPECT_EQ(json_of(chat(R"("stop":"!")").body).at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_TRUE(eventually([&] { return engine.running() == 0; }));
  EXPECT_EQ(engine.cancelled(), 1);
}

TEST_F(ChatTest, a_stop_string_is_kept_when_asked) {
  start();
  for (const char* field : {"no_stop_trim", "include_stop_str_in_output"}) {
    const auto body = json_of(chat(R"("stop":"wor",")" + std::string(field) + R"(":true)").body);
    EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello, wor") << field;
  }
}

TEST_F(ChatTest, an_unfinished_stop_string_is_shown_at_the_end) {
  start();
  const auto body = json_of(chat(R"("stop":"world?")").body);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello, world!");
  EXPECT_EQ(content_of(stream(R"("stop":"world?")")), "Hello, world!");
}

TEST_F(ChatTest, stop_token_ids_end_the_answer) {
  start();
  const auto body = json_of(chat(R"("stop_token_ids":[44])").body);  // ','
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello");
  EXPECT_EQ(body.at("choices").at(0).at("matched_stop"), 44);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 6);
}

TEST_F(ChatTest, the_length_limit_ends_with_length_and_no_match) {
  start();
  const auto body = json_of(chat(R"("max_tokens":100,"max_completion_tokens":5)").body);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "length");
  EXPECT_TRUE(body.at("choices").at(0).at("matched_stop").is_null());
}

TEST_F(ChatTest, logprobs_carry_bytes_and_alternatives) {
  answer_with("\xC3\xA9");
  start();
  const auto body = json_of(chat(R"("logprobs":true,"top_logprobs":2)").body);
  const auto& content = body.at("choices").at(0).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 3U);
  EXPECT_EQ(content[0].at("token"), "\xEF\xBF\xBD");
  EXPECT_EQ(content[0].at("bytes"), json::value(json::array{0xC3}));
  EXPECT_DOUBLE_EQ(content[0].at("logprob").as_double(), -0.25);
  ASSERT_EQ(content[0].at("top_logprobs").as_array().size(), 2U);
  EXPECT_EQ(content[0].at("top_logprobs").at(1).at("bytes"), json::value(json::array{0xC4}));
  std::size_t streamed = 0;
  for (const auto& chunk : stream(R"("logprobs":true)"))
    if (const auto& logprobs = chunk.at("choices").at(0).at("logprobs"); logprobs.is_object())
      streamed += logprobs.at("content").as_array().size();
  EXPECT_EQ(streamed, 3U);
}

TEST_F(ChatTest, several_choices_have_their_own_seeds_and_share_the_prompt_count) {
  start();
  const auto body = json_of(chat(R"("n":3,"seed":7)").body);
  ASSERT_EQ(body.at("choices").as_array().size(), 3U);
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 3U);
  EXPECT_EQ(received[0].sampling.seed, 7U);
  EXPECT_EQ(received[1].sampling.seed, mix_seed(7, 1));
  EXPECT_EQ(received[2].sampling.seed, mix_seed(7, 2));
  EXPECT_EQ(received[1].id, std::string(body.at("id").as_string()) + "_1");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), received[0].prompt.size());
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 42);
  const auto chunks = stream(R"("n":3)");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(content_of(chunks, i), "Hello, world!");
}

TEST_F(ChatTest, requests_without_a_seed_differ) {
  start();
  for (int i = 0; i < 3; ++i) chat();
  std::set<std::uint64_t> seeds;
  for (const auto& request : engine.received()) seeds.insert(request.sampling.seed);
  EXPECT_EQ(seeds.size(), 3U);
}

TEST_F(ChatTest, drafts_are_informed_by_texts_of_the_same_salt_else_of_the_same_key) {
  start();
  const auto scope = [&](const std::string& fields, const std::string& key) {
    const std::string body =
        R"({"model":"any","messages":[{"role":"user","content":"Hi"}])" + fields + "}";
    const std::string header = key.empty() ? "" : "authorization: Bearer " + key + "\r\n";
    EXPECT_EQ(post(port, "/v1/chat/completions", body, header).status, 200);
    return engine.received().back().draft_scope;
  };
  const auto nobody = scope("", ""), anna = scope("", "anna"), ben = scope("", "ben");
  EXPECT_NE(anna, ben);
  EXPECT_NE(anna, nobody);
  EXPECT_EQ(anna, scope("", "anna"));
  const std::string salt = R"(,"cache_salt":"s")";
  EXPECT_EQ(scope(salt, "anna"), scope(salt, "ben"));
  EXPECT_NE(scope(salt, "anna"), anna);
}

TEST_F(ChatTest, fields_reach_the_sampler) {
  start();
  ASSERT_EQ(chat(R"("temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"min_tokens":2,
                    "frequency_penalty":0.1,"presence_penalty":-0.2,"repetition_penalty":1.1,
                    "logit_bias":{"65":-100},"stop_token_ids":[1],"seed":-1,
                    "extra_key":"tenant","rid":"my-id"})")
                .status,
            400);  // a stray brace
  ASSERT_EQ(chat(R"("temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"min_tokens":2,
                    "frequency_penalty":0.1,"presence_penalty":-0.2,"repetition_penalty":1.1,
                    "logit_bias":{"65":-100},"stop_token_ids":[1],"seed":-1,
                    "extra_key":"tenant","rid":"my-id")")
                .status,
            200);
  const Request request = engine.received().at(0);
  const SamplingParams& params = request.sampling;
  EXPECT_EQ(request.id, "my-id");
  EXPECT_NE(request.cache_salt, 0U);
  EXPECT_FLOAT_EQ(params.temperature, 0.5F);
  EXPECT_FLOAT_EQ(params.top_p, 0.9F);
  EXPECT_EQ(params.top_k, 40);
  EXPECT_FLOAT_EQ(params.min_p, 0.1F);
  EXPECT_EQ(params.min_new_tokens, 2);
  EXPECT_FLOAT_EQ(params.frequency_penalty, 0.1F);
  EXPECT_FLOAT_EQ(params.presence_penalty, -0.2F);
  EXPECT_FLOAT_EQ(params.repetition_penalty, 1.1F);
  EXPECT_EQ(params.logit_bias, (std::vector<std::pair<Token, float>>{{65, -100.0F}}));
  EXPECT_EQ(params.stop_tokens, (std::vector<Token>{1, kByteEos}));
  EXPECT_EQ(params.seed, ~std::uint64_t{0});
  EXPECT_EQ(params.top_logprobs, -1);
}

TEST_F(ChatTest, defaults_of_the_model_apply_where_the_request_is_silent) {
  config.sampling_defaults.temperature = 0.6;
  config.sampling_defaults.top_k = 20;
  start();
  chat();
  chat(R"("temperature":0)");
  EXPECT_FLOAT_EQ(engine.received().at(0).sampling.temperature, 0.6F);
  EXPECT_EQ(engine.received().at(0).sampling.top_k, 20);
  EXPECT_EQ(engine.received().at(1).sampling.temperature, 0.0F);
}

TEST_F(ChatTest, templates_get_tools_and_their_variables) {
  start();
  chat(R"("tools":[{"type":"function","function":{"name":"f"}}],
          "chat_template_kwargs":{"thinking":true})");
  chat(R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none")");
  const auto received = engine.received();
  EXPECT_EQ(tokenizer().decode(received.at(0).prompt, SpecialText::kKeep),
            "<|bos|><|user|>user:Hi[1 tools][thinking]<|assistant|>");
  EXPECT_EQ(tokenizer().decode(received.at(1).prompt, SpecialText::kKeep),
            "<|bos|><|user|>user:Hi<|assistant|>");
}

TEST_F(ChatTest, a_final_assistant_message_can_be_continued) {
  start();
  post(port, "/v1/chat/completions",
       R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Well"}],
           "continue_final_message":true})");
  EXPECT_EQ(tokenizer().decode(engine.received().at(0).prompt, SpecialText::kKeep),
            "<|bos|><|user|>user:Hi<|assistant|>Well");
}

TEST_F(ChatTest, wrong_bodies_are_refused_with_the_field_and_the_reason) {
  start();
  EXPECT_EQ(refusal_of(R"("temperature":"hot")"),
            "body.temperature: Input should be a valid number (found string)");
  EXPECT_EQ(refusal_of(R"("temperature":-1)"),
            "temperature must be a non-negative finite number, got -1.");
  EXPECT_EQ(refusal_of(R"("top_logprobs":3)"),
            "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.");
  EXPECT_EQ(refusal_of(R"("max_tokens":-3)"), "max_new_tokens must be at least 0, got -3.");
  EXPECT_EQ(refusal_of(R"("stop":[1])"),
            "body.stop: Input should be a valid string or list of strings (found list)");
  EXPECT_EQ(refusal_of(R"("messages":[])"),
            "body.messages: List should have at least 1 item after validation, not 0");
  EXPECT_EQ(refusal_of(R"("messages":[{"content":"x"}])"), "body.messages.0.role: Field required");
  EXPECT_EQ(refusal_of(R"("messages":"x")"),
            "body.messages: Input should be a valid list (found string)");
  EXPECT_NE(refusal_of(R"("messages":[{"role":"king","content":"x"}])").find("'king'"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"("max_tokens":1000)")
                .find("Requested token count exceeds the model's maximum context length of 512 "
                      "tokens. You requested a total of 1010 tokens: 10 tokens from the input "
                      "messages and 1000 tokens for the completion."),
            std::string::npos);
  EXPECT_EQ(json_of(post(port, "/v1/chat/completions", "{}").body).at("message"),
            "body.messages: Field required");
}

TEST_F(ChatTest, what_is_not_supported_is_refused_by_name) {
  start();
  for (const char* fields :
       {R"("lora_path":"x")", R"("return_hidden_states":true)", R"("functions":[{}])",
        R"("messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}])",
        R"("custom_logit_processor":"x")", R"("session_params":{"id":1})"}) {
    EXPECT_NE(refusal_of(fields).find("not supported"), std::string::npos) << fields;
  }
  EXPECT_EQ(
      chat(R"("response_format":{"type":"text"},"lora_path":null,"user":"u","store":true)").status,
      200);
}

TEST_F(ChatTest, malformed_tools_are_refused) {
  start();
  const auto refusal = [&](const std::string& tool) {
    return refusal_of("\"tools\":[" + tool + "]");
  };
  EXPECT_EQ(refusal("1"), "body.tools.0: Input should be a valid dictionary (found integer)");
  EXPECT_EQ(refusal("{}"), "body.tools.0.function: Field required");
  EXPECT_EQ(refusal(R"({"type":"function","function":{"name":"f"}},{"type":"web_search"})"),
            "body.tools.1.type: Input should be 'function' (found 'web_search')");
  EXPECT_EQ(refusal(R"({"function":"f"})"),
            "body.tools.0.function: Input should be a valid dictionary (found string)");
  EXPECT_EQ(refusal(R"({"function":{}})"), "body.tools.0.function.name: Field required");
  EXPECT_EQ(refusal(R"({"function":{"name":5}})"),
            "body.tools.0.function.name: Input should be a valid string (found integer)");
  EXPECT_EQ(refusal(R"({"function":{"name":"f","parameters":[]}})"),
            "body.tools.0.function.parameters: Input should be a valid dictionary (found list)");
}

TEST_F(ChatTest, tools_that_the_template_would_hide_are_refused) {
  text_options.shows_tools = false;
  start();
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}}])";
  EXPECT_NE(refusal_of(tools).find("this model's chat template shows them nowhere"),
            std::string::npos);
  EXPECT_EQ(chat(tools + R"(,"tool_choice":"none")").status, 200);
  EXPECT_EQ(chat(R"("tools":[])").status, 200);
}

// A template that knows the role, or writes any role as it is, is left alone.
TEST_F(ChatTest, developers_are_the_system_where_the_template_has_no_word_for_them) {
  const auto prompt_of = [&](const std::string& source, const std::string& messages) {
    const ChatTemplate form(source, tokenizer().config());
    const ServerContext context(config, engine, &tokenizer(), &form);
    const auto body = json_of(R"({"messages":[)" + messages + "]}").as_object();
    std::optional<Refusal> fault;
    Fields fields(body, "body", fault);
    const auto prompt = render_chat(context, fields);
    return prompt ? prompt->text : prompt.refusal().message;
  };
  const std::string loop = "{% for m in messages %}", end = "{% endfor %}",
                    show = "[{{ m.role }}:{{ m.content|trim }}]";
  const std::string chat = R"({"role":"developer","content":" d "},{"role":"user","content":"u"})";
  EXPECT_EQ(prompt_of(loop + show + end, chat), "[developer:d][user:u]");
  EXPECT_EQ(
      prompt_of(loop + "{% if m.role in ['system', 'user'] %}" + show + "{% endif %}" + end, chat),
      "[system:d][user:u]");
  const std::string refuses =
      loop + "{% if m.role == 'developer' %}{{ raise_exception('who?') }}{% endif %}" + show + end;
  EXPECT_EQ(prompt_of(refuses, chat), "[system:d][user:u]");
  EXPECT_EQ(prompt_of("{{ raise_exception('never') }}", chat), "chat template: never");
}

TEST_F(ChatTest, a_chat_has_the_begin_token_of_its_template_only) {
  text_options.adds_bos = true;
  start();
  ASSERT_EQ(chat().status, 200);
  ASSERT_EQ(chat(R"("add_special_tokens":true)").status, 200);
  const auto received = engine.received();
  EXPECT_EQ(tokenizer().decode(received.at(0).prompt, SpecialText::kKeep),
            "<|bos|><|user|>user:Hi<|assistant|>");
  EXPECT_EQ(tokenizer().decode(received.at(1).prompt, SpecialText::kKeep),
            "<|bos|><|bos|><|user|>user:Hi<|assistant|>");
}

TEST_F(ChatTest, more_tokens_than_the_operators_context_are_refused_with_sglangs_text) {
  config.given_context_length = 512;
  start();
  EXPECT_EQ(refusal_of(R"("max_tokens":513)"),
            "max_completion_tokens is too large: 513.This model supports at most 512 completion "
            "tokens.");
  EXPECT_NE(refusal_of(R"("max_completion_tokens":512)").find("Requested token count exceeds"),
            std::string::npos);
}

TEST_F(ChatTest, request_ids_cannot_forge_lines_of_the_log) {
  start();
  for (const char* id :
       {R"(a\nb)", R"(\u0000)", R"(a\u001b[2J)", R"(\u007f)", R"(\u009b)", R"(\u2028)"})
    EXPECT_EQ(refusal_of(R"("rid":")" + std::string(id) + "\""),
              "body.rid: control characters are not allowed");
  EXPECT_EQ(refusal_of(R"("rid":")" + std::string(257, 'x') + "\""),
            "body.rid: at most 256 bytes (found 257)");
  EXPECT_EQ(chat(R"("rid":"na\u00efve \u4f60 id")").status, 200);
  EXPECT_NE(
      post(port, "/generate", R"({"text":["a","b"],"rid":["ok","a\rb"]})").body.find("control"),
      std::string::npos);
}

TEST_F(ChatTest, a_failure_before_the_first_token_is_an_error_status) {
  engine.failure = Finish{FinishReason::kOutOfMemory, kNoToken, "no room"};
  start();
  const auto reply = chat();
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(json_of(reply.body).at("message"), "no room");
  EXPECT_EQ(chat(R"("stream":true)").status, 500);
}

TEST_F(ChatTest, a_failure_in_a_stream_is_an_error_event) {
  engine.failure = Finish{FinishReason::kDeadline, kNoToken, "too late"};
  // Late enough for the first token to be under way, else the failure is an error status.
  engine.failure_after = 10;
  engine.pace = std::chrono::milliseconds(10);
  start();
  const auto chunks = stream("");
  ASSERT_FALSE(chunks.empty());
  EXPECT_EQ(chunks.back().at("error").at("message"), "too late");
  EXPECT_EQ(chunks.back().at("error").at("code"), 503);
}

TEST_F(ChatTest, a_full_queue_is_reported_with_its_status) {
  engine.refusal = Refusal{"the queue is full", 503};
  start();
  for (const char* fields : {"", R"("stream":true)"}) {
    const auto reply = chat(fields);
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(json_of(reply.body).at("message"), "the queue is full");
  }
}

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
