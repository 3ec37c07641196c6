// Two calls of tools, cut into tokens at every place: in each family's format, whole and streamed,
// and as the list that tool_choice demands. No token that a model may cut them into is barred.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/testing/cut_calls_fixture.h"
#include "server/testing/two_calls.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::size_t kWindow = 7;

class CallCutsTest : public CutCallsFixture {
 protected:
  CallCutsTest() {
    script = [this](const Request& request) {
      is_bound_ = request.constraint != nullptr;
      const auto constraint = is_bound_ ? request.constraint->start() : nullptr;
      std::vector<Token> out;
      for (const Token token : tokens_) {
        if (constraint && constraint->has_ended()) return out;
        if (constraint && !may_come(*constraint, token)) {
          ADD_FAILURE() << "barred: " << tokenizer().piece(token);
          break;
        }
        out.push_back(token);
        if (!constraint) continue;
        constraint->advance(token);
        EXPECT_EQ(constraint->fault(), "");
      }
      if (!constraint || !constraint->has_ended()) out.push_back(kByteEos);
      return out;
    };
  }

  static bool may_come(TokenConstraint& constraint, Token token) {
    const auto words = constraint.allowed();
    const auto at = static_cast<std::size_t>(token);
    const bool has_bit =
        words.empty() || (at / 32 < words.size() && ((words[at / 32] >> (at % 32)) & 1U) != 0);
    EXPECT_EQ(constraint.allows(token), has_bit);
    return has_bit;
  }
  void check_cuts(const std::string& fields, const std::string& text, const std::string& style) {
    start_for(text);
    const std::string_view all = text;
    for (std::size_t at = 1; at < all.size(); at += kStride) {
      const auto where = style + " at " + std::to_string(at);
      say({all.substr(0, at), all.substr(at)});
      check(fields, where);
      if (HasFailure()) break;
    }
    for (std::size_t at = 0; at < all.size(); at += 2 * kStride) {
      tokens_.clear();
      say({all.substr(at, kWindow)});
      const auto middle = tokens_;
      tokens_ = byte_tokens(all.substr(0, at));
      tokens_.insert(tokens_.end(), middle.begin(), middle.end());
      if (at + kWindow < all.size())
        for (const Token byte : byte_tokens(all.substr(at + kWindow))) tokens_.push_back(byte);
      EXPECT_EQ(calls_of(chat(fields)), R"(f({"a": "y"})g({}))") << style << " from " << at;
      if (HasFailure()) break;
    }
    stop();
  }

#if defined(__SANITIZE_THREAD__) || defined(FORETOKEN_SANITIZES_ADDRESSES)
  static constexpr std::size_t kStride = 7;  // cuts are of no interest to sanitizers
#else
  static constexpr std::size_t kStride = 1;
#endif
};

TEST_F(CallCutsTest, no_cut_of_a_familys_calls_is_barred) {
  for (const auto& [style, text] : two_calls()) {
    SCOPED_TRACE(style);
    config.tool_call_parser = style;
    check_cuts(tools(true), text, style);
    if (HasFailure()) return;
  }
}

TEST_F(CallCutsTest, no_cut_of_a_demanded_list_is_barred) {
  check_cuts(tools() + R"(,"tool_choice":"required")",
             R"([{"name": "f", "parameters": {"a": "y"}}, {"name": "g", "parameters": {}}])"
             "\n\n",
             "a list");
}

TEST_F(CallCutsTest, an_answer_in_json_may_end_in_white_space) {
  const std::string text = "{\"a\": [1, 2]}\n\n";
  start_for(text);
  for (const std::string_view last : {"}", "}\n", "]}\n\n"}) {
    const std::string_view value = std::string_view(text).substr(0, text.find(last.front()));
    say({value, last});
    const auto content = chat(R"("response_format":{"type":"json_object"})").at("message");
    EXPECT_EQ(json::parse(content.at("content").as_string()), json::parse(text)) << last;
  }
}

// Where two calls stand in one token, both are bound, and what the second one may not be is text.
TEST_F(CallCutsTest, what_a_token_holds_behind_a_call_is_read) {
  config.tool_call_parser = "hermes";
  const std::string first =
      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}</tool_call>";
  start_for(first + "<tool_call>{\"na");
  say({std::string_view(first).substr(0, 30), std::string_view(first).substr(30)});
  const auto word = ids_.find(first.substr(30) + "<tool_call>{\"na");
  ASSERT_NE(word, ids_.end());
  tokens_.back() = word->second;
  for (const Token byte : byte_tokens("me\": \"g\", \"arguments\": {}}</tool_call>"))
    tokens_.push_back(byte);
  EXPECT_EQ(calls_of(chat(tools(true))), R"(f({"a": "y"})g({}))");
}

}  // namespace
}  // namespace foretoken
