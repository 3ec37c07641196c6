#include "text/dialogue/reasoning_style.h"

#include <algorithm>

#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

ReasoningStyle think(std::string_view name, bool starts_inside,
                     std::vector<std::string_view> interrupts = {}) {
  return {.name = name,
          .open = "<think>",
          .close = "</think>",
          .starts_inside = starts_inside,
          .interrupts = std::move(interrupts)};
}

const std::vector<ReasoningStyle>& styles() {
  static const std::vector<ReasoningStyle> all = {
      think("deepseek-r1", true),
      think("deepseek-v3", false),
      think("glm45", false, {"<tool_call>"}),
      {.name = "gpt-oss", .open = {}, .close = {}, .has_channels = true},
      {.name = "kimi", .open = "◁think▷", .close = "◁/think▷"},
      think("kimi_k2", false, {"<|tool_calls_section_begin|>"}),
      think("minimax", true, {"<minimax:tool_call>"}),
      think("qwen3", false, {"<tool_call>"}),
      think("qwen3-thinking", true, {"<tool_call>"}),
      think("step3", true, {"<｜tool_calls_begin｜>"})};
  return all;
}

}  // namespace

const ReasoningStyle* find_reasoning_style(std::string_view name) {
  const auto& all = styles();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ReasoningStyle& style) { return style.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> reasoning_style_names() {
  std::vector<std::string_view> names;
  for (const ReasoningStyle& style : styles()) names.push_back(style.name);
  return names;
}

const ReasoningStyle& uninterrupted(const ReasoningStyle& style) {
  static const std::vector<ReasoningStyle> all = [] {
    std::vector<ReasoningStyle> copies = styles();
    for (ReasoningStyle& copy : copies) copy.interrupts.clear();
    return copies;
  }();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const ReasoningStyle& copy) { return copy.name == style.name; });
  return found == all.end() ? style : *found;
}

bool begins_inside(const ReasoningStyle& style, std::string_view prompt, std::string_view continued,
                   bool wants_thinking) {
  if (style.has_channels) return false;
  if (!continued.empty()) {
    const auto open = continued.rfind(style.open), close = continued.rfind(style.close);
    if (close != std::string_view::npos) return open != std::string_view::npos && open > close;
    if (open != std::string_view::npos) return true;
  }
  while (!prompt.empty() && is_white(prompt.back())) prompt.remove_suffix(1);
  if (prompt.ends_with(style.close)) return false;
  if (prompt.ends_with(style.open)) return true;
  // What is continued without any mark is an answer.
  return style.starts_inside && wants_thinking && continued.empty();
}

bool may_open(const ReasoningStyle& style, std::string_view prompt, std::string_view continued,
              bool wants_thinking) {
  return !style.has_channels && wants_thinking && continued.empty() &&
         !trimmed(prompt).ends_with(style.close) &&
         !begins_inside(style, prompt, continued, wants_thinking);
}

}  // namespace foretoken
