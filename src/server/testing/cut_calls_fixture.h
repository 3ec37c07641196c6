#pragma once
// CutCallsFixture: two calls (two_calls.h) that the model says in tokens cut where a test wants,
// asked for over HTTP, whole and streamed. What says them, the script of the engine, is the test's.

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/testing/call_fixture.h"

namespace foretoken {

class CutCallsFixture : public CallConstraintTest {
 protected:
  CutCallsFixture() { engine.tokens_per_step = 512; }  // nothing is left to wait for

  // Makes a vocabulary in which the text may be cut anywhere. longest: bytes of a token, at most.
  void start_for(const std::string& text, std::size_t longest = std::string::npos) {
    text_options.words.clear();
    for (std::size_t at = 0; at < text.size(); ++at)
      text_options.words.push_back(text.substr(at, longest));
    with_words.reset();
    ids_.clear();
    for (Token token = 0; token < tokenizer().vocab_size(); ++token)
      ids_.emplace(tokenizer().piece(token), token);
    config.vocab = tokenizer().vocab_size();
    start();
  }
  // The pieces as tokens; a piece that is none, as its bytes.
  void say(std::span<const std::string_view> pieces) {
    tokens_.clear();
    for (const std::string_view piece : pieces) {
      const auto known = ids_.find(piece);
      if (known != ids_.end())
        tokens_.push_back(known->second);
      else
        for (const Token byte : byte_tokens(piece)) tokens_.push_back(byte);
    }
  }
  void say(std::initializer_list<std::string_view> pieces) { say(std::span(pieces)); }
  std::string streamed(const std::string& fields) {
    const auto reply =
        post(port, "/v1/chat/completions",
             R"({"stream":true,"messages":[{"role":"user","content":"Hi"}],)" + fields + "}");
    std::string all;
    for (const auto& event : sse_events(reply.body)) {
      if (event == "[DONE]") continue;
      const auto delta = json_of(event).at("choices").at(0).at("delta");
      const auto* calls = delta.as_object().if_contains("tool_calls");
      if (calls == nullptr || !calls->is_array()) continue;
      for (const auto& call : calls->as_array()) {
        const auto& function = call.at("function").as_object();
        if (const auto* name = function.if_contains("name"); name != nullptr && name->is_string())
          all += (all.empty() ? "" : ")") + std::string(name->as_string()) + "(";
        if (const auto* text = function.if_contains("arguments"); text && text->is_string())
          all += text->as_string();
      }
    }
    return all + ")";
  }
  void check(const std::string& fields, const std::string& where) {
    EXPECT_EQ(calls_of(chat(fields)), R"(f({"a": "y"})g({}))") << where;
    EXPECT_EQ(streamed(fields), R"(f({"a": "y"})g({}))") << where;
    EXPECT_TRUE(is_bound_) << where;
  }

  std::vector<Token> tokens_;
  std::map<std::string_view, Token> ids_;
};

}  // namespace foretoken
