#include "text/dialogue/thought_meter.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

struct Outcome {
  std::string behind;
  std::int64_t most = 0;  // tokens while inside
  bool was_inside = false, is_over = false;
};

// In tokens of `size` bytes.
Outcome read(std::string_view style, bool begins_inside, std::string_view text, std::size_t size) {
  ThoughtMeter meter(*find_reasoning_style(style), begins_inside);
  Outcome out;
  for (std::size_t at = 0; at < text.size(); at += size) {
    out.behind += meter.push(text.substr(at, size));
    out.was_inside = out.was_inside || meter.is_inside();
    if (meter.is_inside()) out.most = std::max(out.most, meter.tokens());
  }
  out.is_over = meter.is_over();
  return out;
}

TEST(ThoughtMeter, the_reasoning_is_left_however_the_text_is_cut) {
  const std::string text = " \n<think>a <b> c</think>\n\nrest";
  for (std::size_t size = 1; size <= text.size(); ++size)
    for (const bool inside : {false, true})
      EXPECT_EQ(read("qwen3", inside, text, size).behind, "\n\nrest") << size;
}

TEST(ThoughtMeter, tokens_are_counted_behind_the_mark) {
  const Outcome marked = read("qwen3", false, "<think>abcde", 1);
  EXPECT_EQ(marked.most, 5);
  EXPECT_FALSE(marked.is_over);
  EXPECT_EQ(read("qwen3", true, "abcde", 1).most, 5);
  EXPECT_EQ(read("qwen3", true, "<think>", 7).most, 0);
}

TEST(ThoughtMeter, a_text_without_reasoning_is_all_behind_it) {
  for (std::size_t size = 1; size < 8; ++size) {
    const Outcome plain = read("qwen3", false, " <thin, so <think>", size);
    EXPECT_EQ(plain.behind, " <thin, so <think>") << size;
    EXPECT_FALSE(plain.was_inside);
    EXPECT_TRUE(plain.is_over);
  }
}

TEST(ThoughtMeter, what_interrupts_belongs_to_what_follows) {
  EXPECT_EQ(read("qwen3", true, "so:<tool_call>{", 2).behind, "<tool_call>{");
  const Outcome own = read("deepseek-r1", true, "so:<tool_call>{", 2);
  EXPECT_EQ(own.behind, "");
  EXPECT_TRUE(own.was_inside);
  EXPECT_FALSE(own.is_over);
}

TEST(ThoughtMeter, other_marks_are_those_of_the_family) {
  EXPECT_EQ(read("kimi", false, "◁think▷x◁/think▷y", 3).behind, "y");
}

}  // namespace
}  // namespace foretoken
