// Budgets of thinking tokens over HTTP, as the engine sees them: its script asks the constraint of
// its request at every token. Here a mark has as many tokens as bytes.

#include <bit>
#include <utility>

#include "server/chat/thought_budget.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class ThoughtBudgetTest : public ServerTest {
 protected:
  ThoughtBudgetTest() {
    config.reasoning_parser = "qwen3-thinking";
    config.context_length = 4096;
    wish("abcdefgh</think>\n\nYes.");
  }

  // The model says `text`; where it must say something else it does, and then what stands behind
  // the thought.
  void wish(std::string text) {
    script = [this, text = std::move(text)](const Request& request) {
      const std::string mark = "</think>";
      const auto end = text.find(mark);
      const std::size_t behind = end == std::string::npos ? text.size() : end + mark.size();
      const auto constraint = request.constraint ? request.constraint->start() : nullptr;
      std::vector<Token> out;
      bool was_forced = false;
      masks_ = 0;
      for (std::size_t said = 0; out.size() < 3000 && (out.empty() || out.back() != kByteEos);) {
        const auto words = constraint ? constraint->allowed() : std::span<const std::uint32_t>();
        if (words.empty()) {
          if (std::exchange(was_forced, false)) said = behind;
          out.push_back(said < text.size() ? static_cast<unsigned char>(text[said++]) : kByteEos);
        } else {
          ++masks_;
          was_forced = true;
          out.push_back(only_token(words));
          EXPECT_TRUE(constraint->allows(out.back()));
          EXPECT_FALSE(constraint->allows(out.back() + 1));
        }
        if (constraint && out.back() != kByteEos) constraint->advance(out.back());
      }
      return out;
    };
  }

  static Token only_token(std::span<const std::uint32_t> words) {
    Token found = kNoToken;
    for (std::size_t word = 0; word < words.size(); ++word) {
      if (words[word] == 0) continue;
      EXPECT_EQ(found, kNoToken);
      EXPECT_EQ(std::popcount(words[word]), 1);
      found = static_cast<Token>(word * 32) + std::countr_zero(words[word]);
    }
    return found;
  }

  boost::json::value chat(const std::string& fields) {
    const auto reply =
        post(port, "/v1/chat/completions",
             R"({"messages":[{"role":"user","content":"x"}],"max_tokens":60,)" + fields + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body);
  }
  static std::string thought(const boost::json::value& answer) {
    const auto& text = answer.at("choices").at(0).at("message").at("reasoning_content");
    return text.is_null() ? "" : std::string(text.as_string());
  }
  std::string refusal(const std::string& route, const std::string& body) {
    const auto reply = post(port, route, body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    const auto value = json_of(reply.body);
    const auto* error = value.as_object().if_contains("error");
    return std::string((error != nullptr ? *error : value).at("message").as_string());
  }
  std::string chat_refusal(const std::string& fields) {
    return refusal("/v1/chat/completions",
                   R"({"messages":[{"role":"user","content":"x"}],)" + fields + "}");
  }

  int masks_ = 0;
};

TEST_F(ThoughtBudgetTest, where_a_prompt_of_tokens_ends_is_told_by_its_tail_and_the_style) {
  const auto begins_inside = [&](const char* style, const std::string& prompt) {
    config.reasoning_parser = style;
    const ServerContext context(config, engine, &tokenizer(), nullptr);
    return thoughts_after(context, byte_tokens(prompt)).begins_inside;
  };
  EXPECT_TRUE(begins_inside("qwen3-thinking", "Hi"));
  EXPECT_FALSE(begins_inside("qwen3-thinking", "Hi<think>\n\n</think>"));
  EXPECT_FALSE(begins_inside("qwen3", "Hi"));
  EXPECT_TRUE(begins_inside("qwen3", std::string(200, 'x') + "<think>\n"));
}

TEST_F(ThoughtBudgetTest, thoughts_end_at_the_token_in_the_words_of_every_server) {
  start();
  for (const char* field :
       {R"("thinking_token_budget":3)", R"("thinking_budget":3)",
        R"("custom_params":{"thinking_budget":3})",
        R"("chat_template_kwargs":{"thinking_budget":3})",
        R"("thinking_budget":3,"thinking_token_budget":3)",
        R"("thinking_budget":3,"chat_template_kwargs":{"thinking_budget":7})"}) {
    const auto answer = chat(field);
    EXPECT_EQ(thought(answer), "abc") << field;
    EXPECT_EQ(answer.at("choices").at(0).at("message").at("content"), "Yes.") << field;
    EXPECT_EQ(answer.at("usage").at("reasoning_tokens"), 3 + 8) << field;
    EXPECT_EQ(masks_, 8) << field;
  }
}

TEST_F(ThoughtBudgetTest, budgets_that_are_not_used_up_cost_nothing) {
  start();
  for (const char* field : {R"("thinking_budget":8)", R"("thinking_budget":100)",
                            R"("thinking_budget":-1)", R"("thinking_budget":null)"}) {
    EXPECT_EQ(thought(chat(field)), "abcdefgh") << field;
    EXPECT_EQ(masks_, field == std::string(R"("thinking_budget":8)") ? 8 : 0) << field;
  }
  EXPECT_EQ(thought(chat(R"("thinking_budget":0)")), "");
}

TEST_F(ThoughtBudgetTest, a_mark_that_has_begun_is_finished) {
  wish("abc</thought>");
  start();
  EXPECT_EQ(thought(chat(R"("thinking_budget":7)")), "abc");
  EXPECT_EQ(masks_, 4);
}

TEST_F(ThoughtBudgetTest, the_mark_of_the_beginning_does_not_count) {
  config.reasoning_parser = "qwen3";
  wish("<think>abcdefgh</think>Yes.");
  start();
  EXPECT_EQ(thought(chat(R"("thinking_budget":2)")), "ab");
  wish("No <think>abcdefgh</think>");
  EXPECT_EQ(chat(R"("thinking_budget":2)").at("choices").at(0).at("message").at("content"),
            "No <think>abcdefgh</think>");
}

TEST_F(ThoughtBudgetTest, prompts_that_are_no_chat_tell_by_their_end) {
  config.reasoning_parser = "qwen3";
  start();
  const auto text = [&](const std::string& prompt) {
    const auto reply = post(port, "/generate",
                            R"({"text":")" + prompt +
                                R"(","sampling_params":{"custom_params":{"thinking_budget":3}}})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::string(json_of(reply.body).at("text").as_string());
  };
  EXPECT_EQ(text("x<think>"), "abc</think>\n\nYes.");
  EXPECT_EQ(text("x"), "abcdefgh</think>\n\nYes.");
  const auto reply = post(port, "/v1/completions",
                          R"({"prompt":"<think>","max_tokens":40,"thinking_token_budget":1})");
  EXPECT_EQ(json_of(reply.body).at("choices").at(0).at("text"), "a</think>\n\nYes.");
}

TEST_F(ThoughtBudgetTest, messages_and_responses_keep_their_budgets) {
  config.reasoning_parser = "qwen3-thinking";
  wish(std::string(1500, 'a') + "</think>\n\nYes.");
  start();
  const auto message =
      json_of(post(port, "/v1/messages",
                   R"({"max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":1024},
               "messages":[{"role":"user","content":"Hi"}]})")
                  .body);
  EXPECT_EQ(message.at("content").at(0).at("thinking").as_string(), std::string(1024, 'a'));
  EXPECT_EQ(message.at("content").at(1).at("text"), "Yes.");
  const auto response = post(port, "/v1/responses", R"({"input":"Hi","thinking_budget":1024})");
  EXPECT_NE(response.body.find("\"Yes.\""), std::string::npos) << response.body;
}

TEST_F(ThoughtBudgetTest, it_stands_around_a_grammar) {
  config.reasoning_parser = "kimi";
  start();
  const auto answer = post(port, "/v1/chat/completions",
                           R"({"messages":[{"role":"user","content":"x"}],"max_tokens":60,
                               "thinking_budget":2,"guided_choice":["a"],
                               "chat_template_kwargs":{"enable_thinking":false}})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(refusal("/generate", R"({"text":"x","sampling_params":{"regex":"a",
                                   "thinking_budget":3}})"),
            "only one of thinking_budget and regex can be set");
}

TEST_F(ThoughtBudgetTest, nonsense_is_refused_by_name) {
  start();
  EXPECT_EQ(chat_refusal(R"("thinking_token_budget":-2)"),
            "thinking_token_budget must be at least 0, or -1 for no limit, got -2.");
  EXPECT_EQ(chat_refusal(R"("thinking_budget":"5")"),
            "body.thinking_budget: Input should be a valid integer (found string)");
  EXPECT_EQ(chat_refusal(R"("thinking_budget":1.5)"),
            "body.thinking_budget: Input should be a valid integer (found number)");
  EXPECT_EQ(chat_refusal(R"("custom_params":7)"),
            "body.custom_params: Input should be a valid dictionary (found integer)");
  EXPECT_EQ(chat_refusal(R"("custom_params":{"thinking_budget":1,"other":2})"),
            "custom_params.other is not supported: there are no custom logit processors, and of "
            "their parameters only thinking_budget is known");
  EXPECT_EQ(chat_refusal(R"("thinking_budget":1,"custom_params":{"thinking_budget":2})"),
            "only one of thinking_budget and custom_params.thinking_budget can be set");
  EXPECT_EQ(chat_refusal(R"("chat_template_kwargs":{"thinking_budget":-7})"),
            "chat_template_kwargs.thinking_budget must be at least 0, or -1 for no limit, got -7.");
  EXPECT_EQ(chat_refusal(R"("max_thinking_tokens":5)"),
            "max_thinking_tokens is not supported: use thinking_token_budget");
  EXPECT_EQ(refusal("/generate", R"({"text":"x","thinking_budget":5})"),
            "thinking_budget is not supported: it belongs into sampling_params");
}

TEST_F(ThoughtBudgetTest, what_cannot_be_kept_is_refused_and_advice_is_not) {
  config.reasoning_parser = "";
  start();
  EXPECT_EQ(chat_refusal(R"("thinking_budget":5)"),
            "thinking_budget is not supported: this server tells no reasoning apart: start it with "
            "--reasoning-parser");
  chat(R"("chat_template_kwargs":{"thinking_budget":5})");
  stop();
  config.reasoning_parser = "gpt-oss";
  start();
  EXPECT_EQ(chat_refusal(R"("custom_params":{"thinking_budget":5})"),
            "custom_params.thinking_budget is not supported: the family gpt-oss has no mark that "
            "ends the reasoning");
  chat(R"("chat_template_kwargs":{"thinking_budget":5})");
}

// Drafts are looked at before they are verified; what is said of them is what will be the case.
TEST_F(ThoughtBudgetTest, drafts_are_counted_along_their_path) {
  const ReasoningStyle& style = *find_reasoning_style("qwen3");
  const ThoughtSource source(ThoughtParts{.tokenizer = tokenizer(),
                                          .place = {.style = &style, .begins_inside = true},
                                          .budget = 4,
                                          .end = tokens_of_mark(tokenizer(), style.close),
                                          .vocab = kByteVocab,
                                          .rest = nullptr});
  const auto constraint = source.start();
  const auto count = [&](const char* text) { return constraint->count_allowed(byte_tokens(text)); };
  EXPECT_EQ(count("abcd"), 4);
  EXPECT_EQ(count("abcde"), 4);
  EXPECT_EQ(count("abcd</think>anything at all"), 27);
  EXPECT_EQ(count("abcd</thanks"), 8);
  EXPECT_EQ(count("ab</think>anything at all"), 25);
  EXPECT_TRUE(constraint->foreseen().empty());
  for (const Token token : byte_tokens("abcd")) constraint->advance(token);
  EXPECT_EQ(constraint->foreseen(), byte_tokens("</think>"));
  constraint->advance('<');
  EXPECT_EQ(constraint->foreseen(), byte_tokens("/think>"));
  EXPECT_EQ(count("/think>x"), 8);
  EXPECT_FALSE(constraint->has_ended());
  EXPECT_EQ(constraint->fault(), "");
}

}  // namespace
}  // namespace foretoken
