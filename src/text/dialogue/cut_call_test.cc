// Answers that end inside of a mark behind a call.

#include <gtest/gtest.h>

#include "text/testing/dialogue_kit.h"

namespace foretoken {
namespace {

struct Section {
  std::string_view style;
  std::string call;                     // up to the end of the first one
  std::vector<std::string_view> marks;  // one of which may follow
};

const std::vector<Section>& sections() {
  static const std::vector<Section> all{
      {"deepseekv31",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
       {"<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>"}},
      {"kimi_k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
       "<|tool_call_end|>",
       {"<|tool_call_begin|>", "<|tool_calls_section_end|>"}},
      {"minimax-m2",
       "<minimax:tool_call>\n<invoke name=\"f\">\n</invoke>\n",
       {"<invoke name=\"", "</minimax:tool_call>"}},
  };
  return all;
}

ReadAnswer read(const Section& section, std::string_view behind, Ending ending) {
  Dialogue dialogue;
  dialogue.calls = find_call_style(section.style);
  dialogue.call_options = {.tools = tools_named({{"f", ""}})};
  return read_answer(dialogue, {section.call, behind}, ending);
}

TEST(CutCall, half_a_mark_that_a_limit_cut_off_is_no_text) {
  for (const Section& section : sections())
    for (const std::string_view mark : section.marks)
      for (std::size_t size = 0; size <= mark.size(); ++size) {
        const ReadAnswer cut = read(section, mark.substr(0, size), Ending::kCut);
        EXPECT_EQ(cut.calls.size(), 1U) << section.style;
        EXPECT_EQ(cut.content, "") << section.style << ", " << size << " bytes of " << mark;
      }
}

TEST(CutCall, what_a_model_ended_with_is_text_though_it_begins_like_a_mark) {
  for (const Section& section : sections())
    for (const std::string_view mark : section.marks) {
      const std::string_view half = mark.substr(0, mark.size() - 1);
      const ReadAnswer whole = read(section, half, Ending::kComplete);
      EXPECT_EQ(whole.calls.size(), 1U) << section.style;
      EXPECT_EQ(whole.content, half) << section.style;
    }
}

}  // namespace
}  // namespace foretoken
