// The longest names and headers that calls may have.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "text/dialogue/call_body.h"
#include "text/testing/dialogue_kit.h"

namespace foretoken::call_name_test {
namespace {

struct Family {
  std::string_view style;
  std::string before, behind;  // of the name
};

const std::vector<Family>& families() {
  static const std::vector<Family> all{
      {"pythonic", "[", "()]"},
      {"mistral", "[TOOL_CALLS]", "{}"},
      {"deepseekv31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
       "<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"qwen3_coder", "<tool_call>\n<function=", ">\n</function>\n</tool_call>"},
      {"glm45", "<tool_call>", "\n</tool_call>"},
  };
  return all;
}

class CallName : public testing::Test {
 protected:
  CallName() { set_log_level(LogLevel::kOff); }
  ~CallName() override { set_log_level(LogLevel::kInfo); }

  static std::size_t calls_in(std::string_view style, const std::string& text,
                              const std::string& name) {
    Dialogue dialogue;
    dialogue.calls = find_call_style(style);
    dialogue.call_options = {.tools = tools_named({{name, ""}})};
    const ReadAnswer whole = read_answer(dialogue, {text});
    // However the answer is cut.
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < text.size(); ++i)
      bytes.push_back(std::string_view(text).substr(i, 1));
    EXPECT_EQ(read_answer(dialogue, bytes).calls.size(), whole.calls.size()) << style;
    if (whole.calls.empty()) {
      EXPECT_NE(whole.content.find(name), std::string::npos) << style;
    }
    return whole.calls.size();
  }
};

TEST_F(CallName, is_no_longer_than_a_parser_holds_back) {
  for (const Family& family : families())
    for (const std::size_t more : {0U, 1U}) {
      const std::string name(kMaxNameBytes + more, 'n');
      EXPECT_EQ(calls_in(family.style, family.before + name + family.behind, name), 1 - more)
          << family.style;
    }
}

TEST_F(CallName, may_stand_in_a_header_of_a_thousand_bytes) {
  const std::string begin = "<|channel|>commentary to=functions.f ";
  for (const std::size_t more : {0U, 1U}) {
    const std::string header = begin + std::string(1024 + more - begin.size(), ' ');
    EXPECT_EQ(calls_in("gpt-oss", header + "<|message|>{}<|call|>", "f"), 1 - more);
  }
}

}  // namespace
}  // namespace foretoken::call_name_test
