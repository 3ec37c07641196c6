// Thoughts before a bound answer, over HTTP: the engine is a script that asks the constraint of its
// request at every token.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr const char* kJson = R"("response_format":{"type":"json_object"})";

class ThoughtsFirstTest : public ServerTest {
 protected:
  ThoughtsFirstTest() {
    config.reasoning_parser = "qwen3";
    config.tool_call_parser = "qwen25";
    config.context_length = 4096;
    script = [this](const Request& request) {
      std::vector<Token> out;
      barred_.clear();
      masks_ = 0;
      const auto constraint = request.constraint ? request.constraint->start() : nullptr;
      for (const Token token : tokens_) {
        if (constraint && constraint->has_ended()) return out;
        if (constraint && !may_come(*constraint, token)) {
          barred_ = tokenizer().piece(token);
          break;
        }
        out.push_back(token);
        if (constraint) constraint->advance(token);
      }
      if (!constraint || !constraint->has_ended()) out.push_back(kByteEos);
      return out;
    };
  }

  bool may_come(TokenConstraint& constraint, Token token) {
    const auto words = constraint.allowed();
    if (!words.empty()) ++masks_;
    const auto at = static_cast<std::size_t>(token);
    const bool has_bit =
        words.empty() || (at / 32 < words.size() && ((words[at / 32] >> (at % 32)) & 1U) != 0);
    EXPECT_EQ(constraint.allows(token), has_bit) << token;
    EXPECT_LE(constraint.count_allowed({&token, 1}), 1);
    return has_bit;
  }
  // A vocabulary in which this text may be cut anywhere.
  void start_for(const std::string& text) {
    text_options.words.clear();
    for (std::size_t at = 0; at < text.size(); ++at) text_options.words.push_back(text.substr(at));
    ids_.clear();  // its keys are the tokenizer's
    with_words.reset();
    config.vocab = tokenizer().vocab_size();
    for (Token token = 0; token < tokenizer().vocab_size(); ++token)
      ids_.emplace(tokenizer().piece(token), token);
    start();
  }
  void say(std::initializer_list<std::string_view> pieces) {
    tokens_.clear();
    for (const std::string_view piece : pieces)
      if (const auto known = ids_.find(piece); known != ids_.end())
        tokens_.push_back(known->second);
      else
        for (const Token byte : byte_tokens(piece)) tokens_.push_back(byte);
  }
  json::object chat(const std::string& fields) {
    const auto reply = post(port, "/v1/chat/completions",
                            R"({"messages":[{"role":"user","content":"Hi"}],)" + fields + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body).at("choices").at(0).at("message").as_object();
  }

  std::vector<Token> tokens_;
  std::map<std::string_view, Token> ids_;
  std::string barred_;
  int masks_ = 0;
};

TEST_F(ThoughtsFirstTest, families_that_open_their_thoughts_think_freely_and_then_obey) {
  for (const char* style : {"qwen3", "glm45", "kimi_k2", "deepseek-v3"}) {
    config.reasoning_parser = style;
    start();
    for (const auto& [fields, answer] : std::vector<std::pair<std::string, std::string>>{
             {kJson, R"({"a": 1})"},
             {R"("regex":"ye+s")", "yees"},
             {R"("guided_choice":["yes","no"])", "no"},
             {R"("ebnf":"root ::= \"ab\" [0-9]")", "ab7"}}) {
      say({"<think>\nAh {\"<tool_call> no</thin", "> x<", "/think>\n\n", answer});
      const auto message = chat(fields);
      EXPECT_EQ(barred_, "") << style << ": " << fields;
      EXPECT_EQ(message.at("reasoning_content"), "Ah {\"<tool_call> no</thin> x");
      EXPECT_EQ(message.at("content"), answer.c_str()) << style;
    }
    stop();
  }
}

TEST_F(ThoughtsFirstTest, a_model_that_does_not_think_begins_with_the_answer) {
  start();
  say({R"({"a": 1})"});
  auto message = chat(kJson);
  EXPECT_EQ(barred_, "");
  EXPECT_EQ(message.at("content"), R"({"a": 1})");
  EXPECT_FALSE(message.contains("reasoning_content") &&
               message.at("reasoning_content").is_string());
  say({"Sure: {}"});
  chat(kJson);
  EXPECT_EQ(barred_, "S");
  say({"<thinking>"});
  chat(kJson);
  EXPECT_EQ(barred_, "i") << "half a mark must become one";
  say({"<thing>"});
  EXPECT_EQ(chat(R"("regex":"<t[a-z]+>")").at("content"), "<thing>") << "or the answer";
}

TEST_F(ThoughtsFirstTest, where_thinking_is_off_the_answer_is_bound_from_the_first_token) {
  start();
  say({"<think>"});
  for (const char* off : {R"(,"chat_template_kwargs":{"enable_thinking":false})",
                          R"(,"chat_template_kwargs":{"thinking":false})"}) {
    chat(kJson + std::string(off));
    EXPECT_EQ(barred_, "<");
  }
  stop();
  config.reasoning_parser = "gpt-oss";
  start();
  say({"<|channel|>"});
  chat(kJson);
  EXPECT_EQ(barred_, "<") << "channels are no mark that ends";
}

TEST_F(ThoughtsFirstTest, what_the_prompt_has_opened_is_free_until_its_end) {
  config.reasoning_parser = "deepseek-r1";
  start();
  say({"So { it\n</think>\n{\"a\": 1}"});
  auto message = chat(kJson);
  EXPECT_EQ(message.at("reasoning_content"), "So { it");
  EXPECT_EQ(message.at("content"), R"({"a": 1})");
  say({"So</think>\n\n\n"});
  chat(kJson);
  EXPECT_EQ(barred_, "\n") << "two line breaks are enough";
  // It stays in the text where the request wants it there, and is as free.
  say({"So</think>{}"});
  message = chat(kJson + std::string(R"(,"separate_reasoning":false)"));
  EXPECT_EQ(barred_, "");
  EXPECT_EQ(message.at("content"), "So</think>{}");
}

TEST_F(ThoughtsFirstTest, thinking_costs_no_mask) {
  config.reasoning_parser = "deepseek-r1";
  start();
  say({"a<b <think> </thin"});
  chat(kJson);
  EXPECT_EQ(masks_, 0);
}

TEST_F(ThoughtsFirstTest, demanded_calls_may_be_thought_about) {
  start();
  const std::string tools =
      R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":)";
  say({"<think>f or [g]</think>\n\n", R"([{"name": "f", "parameters": {}}])"});
  for (const char* choice : {R"("required")", R"({"type":"function","function":{"name":"f"}})"}) {
    const auto message = chat(tools + choice);
    EXPECT_EQ(barred_, "");
    EXPECT_EQ(message.at("reasoning_content"), "f or [g]");
    EXPECT_EQ(message.at("tool_calls").at(0).at("function").at("name"), "f");
  }
}

TEST_F(ThoughtsFirstTest, a_budget_ends_the_thought_and_the_answer_is_bound) {
  start();
  say({"<think>ab", "</think>", "{}"});
  const auto message = chat(kJson + std::string(R"(,"thinking_budget":2)"));
  EXPECT_EQ(barred_, "");
  EXPECT_EQ(message.at("reasoning_content"), "ab");
  EXPECT_EQ(message.at("content"), "{}");
  say({"<think>abc"});
  chat(kJson + std::string(R"(,"thinking_budget":2)"));
  EXPECT_EQ(barred_, "c");
}

TEST_F(ThoughtsFirstTest, no_cut_of_a_thought_and_its_answer_is_barred) {
  const std::string text = "<think>\nA <b\n</think>\n\n{\"a\": 1}\n";
  start_for(text);
  for (std::size_t at = 1; at < text.size(); ++at) {
    say({std::string_view(text).substr(0, at), std::string_view(text).substr(at)});
    const auto message = chat(kJson);
    EXPECT_EQ(barred_, "") << at;
    EXPECT_EQ(message.at("reasoning_content"), "A <b") << at;
    EXPECT_EQ(json::parse(message.at("content").as_string()).at("a"), 1) << at;
  }
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const std::size_t size : {2U, 5U, 9U}) {
      say({std::string_view(text).substr(at, size)});
      const auto middle = tokens_;
      tokens_ = byte_tokens(std::string_view(text).substr(0, at));
      tokens_.insert(tokens_.end(), middle.begin(), middle.end());
      for (const Token byte :
           byte_tokens(std::string_view(text).substr(std::min(at + size, text.size()))))
        tokens_.push_back(byte);
      EXPECT_EQ(chat(kJson).at("reasoning_content"), "A <b") << at << " of " << size;
      EXPECT_EQ(barred_, "") << at << " of " << size;
    }
  // A token that ends the thought and begins what the answer may not be.
  stop();
  start_for("<think>A</think>\n\nSure");
  say({"<think>A</thin", "k>\n\nSure"});
  chat(kJson);
  EXPECT_EQ(barred_, "k>\n\nSure");
}

}  // namespace
}  // namespace foretoken
