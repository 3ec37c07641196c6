// Bodies of /v1/chat/completions: fields that reach the engine, fields that are refused.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/chat/chat_prompt.h"
#include "server/testing/chat_fixture.h"

namespace foretoken {
namespace {

TEST_F(ChatTest, more_than_twenty_alternatives_are_refused) {
  start();
  EXPECT_EQ(chat(R"("logprobs":true,"top_logprobs":20,"max_tokens":1)").status, 200);
  EXPECT_EQ(refusal_of(R"("logprobs":true,"top_logprobs":21)"),
            "top_logprobs must be in [0, 20], got 21.");
  EXPECT_EQ(post(port, "/v1/completions", R"({"prompt":"x","logprobs":21})").status, 400);
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
  EXPECT_EQ(refusal_of(R"("messages":[{"role":"user","content":null}])"),
            "body.messages.0.content: Input should be a valid string or list (found null)");
  EXPECT_EQ(refusal_of(R"("messages":[{"role":"user"}])"),
            "body.messages.0.content: Field required");
  EXPECT_EQ(refusal_of(R"("messages":"x")"),
            "body.messages: Input should be a valid list (found string)");
  EXPECT_NE(refusal_of(R"("messages":[{"role":"king","content":"x"}])").find("'king'"),
            std::string::npos);
  EXPECT_EQ(json_of(post(port, "/v1/chat/completions", "{}").body).at("message"),
            "body.messages: Field required");
}

TEST_F(ChatTest, what_is_not_supported_is_refused_by_name) {
  start();
  for (const char* fields :
       {R"("lora_path":"x")", R"("return_pooled_hidden_states":true)", R"("functions":[{}])",
        R"("messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}])",
        R"("custom_logit_processor":"x")"}) {
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

TEST_F(ChatTest, tools_that_the_template_would_hide_may_be_refused) {
  text_options.shows_tools = false;
  config.prompts_tools = false;
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
  const std::string first =
      loop +
      "{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}{% endif %}";
  const std::string late = R"({"role":"system","content":"a"},{"role":"user","content":"b"},)"
                           R"({"role":"system","content":"c"})";
  EXPECT_EQ(prompt_of(first + show + end, late), "[system:a][user:b][user:c]");
  EXPECT_EQ(prompt_of(first + "{% if m.content == 'c' %}{{ raise_exception('c') }}{% endif %}" +
                          show + end,
                      late),
            "chat template: late");
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
  EXPECT_EQ(chat(R"("max_completion_tokens":512)").status, 200);
}

TEST_F(ChatTest, more_tokens_than_the_context_holds_are_cut) {
  start();
  answer_with(std::string(600, 'x'));
  const auto body = json_of(chat(R"("max_tokens":100000)").body);
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "length");
  EXPECT_EQ(body.at("usage").at("total_tokens"), 512);
  EXPECT_EQ(chat(R"("max_tokens":9223372036854775807)").status, 200);
  EXPECT_EQ(chat(R"("n_predict":5)").status, 200);
  EXPECT_EQ(engine.received().back().max_new_tokens, 5);
}

TEST_F(ChatTest, effort_is_told_to_the_template) {
  const auto prompt_of = [&](const std::string& fields) {
    const ChatTemplate form(
        "{{ reasoning_effort }}/{{ thinking }}/{{ enable_thinking }}{{ messages[0].content }}",
        tokenizer().config());
    const ServerContext context(config, engine, &tokenizer(), &form);
    const auto body =
        json_of(R"({"messages":[{"role":"user","content":""}],)" + fields + "}").as_object();
    std::optional<Refusal> fault;
    Fields all(body, "body", fault);
    const auto prompt = render_chat(context, all);
    return prompt ? prompt->text : prompt.refusal().message;
  };
  EXPECT_EQ(prompt_of(R"("n":1)"), "//");
  EXPECT_EQ(prompt_of(R"("reasoning_effort":"low")"), "low/True/True");
  EXPECT_EQ(prompt_of(R"("reasoning_effort":"none")"), "none/False/False");
  EXPECT_EQ(prompt_of(R"("reasoning_effort":0.5)"), "0.5/True/True");
  EXPECT_EQ(prompt_of(R"("reasoning":{"effort":"high"})"), "high/True/True");
  EXPECT_EQ(prompt_of(R"("reasoning":{"effort":"0.25"})"), "0.25/True/True");
  EXPECT_EQ(prompt_of(R"("reasoning":{"enabled":false})"), "/False/False");
  EXPECT_EQ(prompt_of(R"("reasoning":{"effort":null,"summary":"auto"})"), "//");
  EXPECT_EQ(prompt_of(R"("reasoning_effort":"low","chat_template_kwargs":{"thinking":false})"),
            "low/False/True");
  const std::string words =
      "Input should be 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max' or a number in "
      "[0, 0.99] (found ";
  EXPECT_EQ(prompt_of(R"("reasoning_effort":1)"), "body.reasoning_effort: " + words + "1)");
  EXPECT_EQ(prompt_of(R"("reasoning_effort":true)"), "body.reasoning_effort: " + words + "true)");
  EXPECT_EQ(prompt_of(R"("reasoning":{"effort":"much"})"),
            "body.reasoning.effort: " + words + "\"much\")");
  EXPECT_EQ(prompt_of(R"("reasoning":{"exclude":true})"),
            "body.reasoning.exclude: reasoning is shown apart: leave out reasoning_content");
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

}  // namespace
}  // namespace foretoken
