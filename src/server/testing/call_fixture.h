#pragma once
// CallConstraintTest: the fixture of the suites of calls that a model makes on its own, over HTTP.
// The script of the engine says what the model would write, and asks the constraint of its request
// at every token.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/structured/call_constraint.h"
#include "server/testing/server_fixture.h"

namespace foretoken {

inline constexpr const char* kParameters =
    R"({"type":"object","properties":{"a":{"$ref":"#/$defs/word"},"n":{"type":"integer"}},
        "required":["a"],"additionalProperties":false,"$defs":{"word":{"enum":["x","y"]}}})";

// g takes anything but the arguments of f.
inline std::string tools(bool is_strict = false, const std::string& parameters = kParameters) {
  return R"("tools":[{"type":"function","function":{"name":"f","strict":)" +
         std::string(is_strict ? "true" : "false") + R"(,"parameters":)" + parameters +
         R"(}},{"type":"function","function":{"name":"g","parameters":)" +
         R"({"type":"object","properties":{"a":{"type":"null"}}}}}])";
}

class CallConstraintTest : public ServerTest {
 protected:
  CallConstraintTest() {
    config.tool_call_parser = "qwen25";
    config.context_length = 4096;
  }

  // The model would like to say `text`; where it may not, it says the lowest token that may come
  // next and tries again.
  void wish(std::string text) {
    script = [this, text = std::move(text)](const Request& request) {
      std::vector<Token> out;
      masks_ = 0;
      is_bound_ = request.constraint != nullptr;
      const auto constraint = is_bound_ ? request.constraint->start() : nullptr;
      for (std::size_t said = 0; out.size() < 1500;) {
        Token token = said < text.size() ? static_cast<unsigned char>(text[said]) : kByteEos;
        const auto words = constraint ? constraint->allowed() : std::span<const std::uint32_t>();
        if (!words.empty()) ++masks_;
        const auto may = [&](Token one) {
          const auto at = static_cast<std::size_t>(one);
          return words.empty() ||
                 (at / 32 < words.size() && ((words[at / 32] >> (at % 32)) & 1U) != 0);
        };
        if (may(token))
          ++said;
        else
          for (token = 0; token < kByteVocab && !may(token);) ++token;
        EXPECT_TRUE(!constraint || constraint->allows(token)) << out.size();
        out.push_back(token);
        if (token == kByteEos) break;
        if (constraint) constraint->advance(token);
        if (constraint && !constraint->fault().empty()) break;
      }
      return out;
    };
  }

  boost::json::value chat(const std::string& fields) {
    const auto reply = post(port, "/v1/chat/completions",
                            R"({"messages":[{"role":"user","content":"Hi"}],)" + fields + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body).at("choices").at(0);
  }
  std::string refusal(const std::string& fields) {
    const auto reply = post(port, "/v1/chat/completions",
                            R"({"messages":[{"role":"user","content":"Hi"}],)" + fields + "}");
    EXPECT_EQ(reply.status, 400) << reply.body;
    return std::string(json_of(reply.body).at("message").as_string());
  }
  // NAME(ARGUMENTS) of each call.
  static std::string calls_of(const boost::json::value& choice) {
    std::string all;
    const auto& list = choice.at("message").at("tool_calls");
    if (!list.is_array()) return all;
    for (const auto& call : list.as_array()) {
      const auto& function = call.at("function");
      all += std::string(function.at("name").as_string()) + "(" +
             std::string(function.at("arguments").as_string()) + ")";
    }
    return all;
  }

  int masks_ = 0;
  bool is_bound_ = false;
};

}  // namespace foretoken
