// Two calls of tools, cut into tokens at every place: in each family's format, whole and streamed,
// and as the list that tool_choice demands. No token that a model may cut them into is barred.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/testing/call_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

struct Written {
  std::string style, text;
};

const std::vector<Written>& two_calls() {
  static const std::vector<Written> all = {
      {"hermes",
       "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}\n</tool_call>\n"
       "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>\n"},
      {"qwen25",
       "Look:<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}</tool_call>"
       "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>"},
      {"llama3",
       "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": \"y\"}}; "
       "{\"name\": \"g\", \"parameters\": {}}\n\n"},
      {"llama3",
       "{\"name\": \"f\", \"parameters\": {\"a\": \"y\"}}; {\"name\": \"g\", \"parameters\": "
       "{}}\n"},
      {"llama4", "<|python_start|>[f(a=\"y\"), g()]<|python_end|>\n"},
      {"pythonic", "[f(a=\"y\"), g()]\n\n"},
      {"mistral",
       "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}, "
       "{\"name\": \"g\", \"arguments\": {}}]\n\n"},
      {"mistral", "[TOOL_CALLS]f[ARGS]{\"a\": \"y\"}[TOOL_CALLS]g[ARGS]{}\n"},
      {"deepseekv3",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
       "\"y\"}\n"
       "```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"deepseekv31",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": \"y\"}<｜tool▁call▁end｜>"
       "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"kimi_k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
       "{\"a\": \"y\"}<|tool_call_end|><|tool_call_begin|>functions.g:1"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"},
      {"glm45",
       "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>y</arg_value>\n</tool_call>\n"
       "<tool_call>g\n</tool_call>\n"},
      {"qwen3_coder",
       "<tool_call>\n<function=f>\n<parameter=a>\ny\n</parameter>\n</function>\n</tool_call>\n"
       "<tool_call>\n<function=g>\n</function>\n</tool_call>\n"},
      {"step3",
       "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke "
       "name=\"f\"><steptml:parameter name=\"a\">y</steptml:parameter></steptml:invoke>"
       "<｜tool_call_end｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"g\">"
       "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"},
      {"minimax-m2",
       "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">y</parameter>\n</invoke>\n"
       "<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>\n"},
      {"glm47",
       "<tool_call>f<arg_key>a</arg_key><arg_value>y</arg_value></tool_call>"
       "<tool_call>g</tool_call>"},
      {"hunyuan",
       "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>y</arg_value>\n"
       "</tool_call>\n<tool_call>g<tool_sep>\n</tool_call>\n</tool_calls>\n"},
      {"hunyuan_a13b",
       "<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}, "
       "{\"name\": \"g\", \"arguments\": {}}]</tool_calls>\n"},
      {"mimo",
       "<tool_call>\n<function=f>\n<parameter=a>y</parameter>\n</function>\n</tool_call>\n"
       "<tool_call>\n<function=g>\n</function>\n</tool_call>\n"},
      {"deepseekv32",
       "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
       "string=\"true\">y</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n"
       "</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"kimi_k3",
       "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" "
       "index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>y<|close|>argument"
       "<|sep|><|close|>call<|sep|><|open|>call tool=\"g\" index=\"2\"<|sep|><|close|>call<|sep|>"
       "<|close|>tools<|sep|><|close|>message<|sep|>"},
      {"interns1",
       "<|action_start|> <|plugin|>\n{\"name\": \"f\", \"parameters\": {\"a\": \"y\"}}"
       "<|action_end|>\n<|action_start|><|plugin|>{\"name\": \"g\", \"parameters\": {}}"
       "<|action_end|>"},
      {"cohere_command4",
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": "
       "{\"a\": \"y\"}},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"g\", "
       "\"parameters\": {}}\n]<|END_ACTION|>"},
      {"apertus2509", "<|tools_prefix|>[{\"f\": {\"a\": \"y\"}}, {\"g\": {}}]<|tools_suffix|>"},
      {"gigachat3",
       "<|function_call|>{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}<|message_sep|>\n\n"
       "function call<|role_sep|>\n{\"name\": \"g\", \"arguments\": {}}"},
      {"lfm2", "<|tool_call_start|>[f(a=\"y\"), g()]<|tool_call_end|>"},
      {"minimax-m3",
       "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke "
       "name=\"f\">]<]minimax[>[<a>y]<]minimax[>[</a>"
       "]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"g\">]<]minimax[>[</invoke>\n"
       "]<]minimax[>[</tool_call>"},
      {"gemma4", "<|tool_call>call:f{a:<|\"|>y<|\"|>}<tool_call|><|tool_call>call:g{}<tool_call|>"},
      {"gpt-oss",
       "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"y\"}<|call|>"
       "<|start|>assistant<|channel|>commentary to=functions.g <|constrain|>json<|message|>{}"
       "<|call|>"}};
  return all;
}

constexpr std::size_t kWindow = 7;

class CallCutsTest : public CallConstraintTest {
 protected:
  CallCutsTest() {
    engine.tokens_per_step = 512;  // nothing is left to wait for
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

  // A vocabulary in which the text may be cut anywhere.
  void start_for(const std::string& text) {
    text_options.words.clear();
    for (std::size_t at = 0; at < text.size(); ++at) {
      text_options.words.push_back(text.substr(at));
    }
    with_words.reset();
    ids_.clear();
    for (Token token = 0; token < tokenizer().vocab_size(); ++token)
      ids_.emplace(tokenizer().piece(token), token);
    config.vocab = tokenizer().vocab_size();
    start();
  }
  static bool may_come(TokenConstraint& constraint, Token token) {
    const auto words = constraint.allowed();
    const auto at = static_cast<std::size_t>(token);
    const bool has_bit =
        words.empty() || (at / 32 < words.size() && ((words[at / 32] >> (at % 32)) & 1U) != 0);
    EXPECT_EQ(constraint.allows(token), has_bit);
    return has_bit;
  }
  // The pieces as tokens; a piece that is none, as its bytes.
  void say(std::initializer_list<std::string_view> pieces) {
    tokens_.clear();
    for (const std::string_view piece : pieces) {
      const auto known = ids_.find(piece);
      if (known != ids_.end())
        tokens_.push_back(known->second);
      else
        for (const Token byte : byte_tokens(piece)) tokens_.push_back(byte);
    }
  }
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

#ifdef __SANITIZE_THREAD__
  static constexpr std::size_t kStride = 7;  // cuts are of no interest to threads
#else
  static constexpr std::size_t kStride = 1;
#endif

  std::vector<Token> tokens_;
  std::map<std::string_view, Token> ids_;
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
