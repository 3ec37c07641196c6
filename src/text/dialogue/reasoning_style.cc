#include "text/dialogue/reasoning_style.h"

#include <algorithm>
#include <array>

#include "text/dialogue/marks.h"
#include "text/dialogue/template_signs.h"

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

ReasoningStyle hunyuan_a13b() {
  ReasoningStyle style = think("hunyuan_a13b", false, {"<tool_calls>"});
  style.frame = {"<answer>\n", "\n</answer>"};
  return style;
}

ReasoningStyle minimax_append_think() {
  ReasoningStyle style = think("minimax-append-think", true);
  style.stays_text = true;
  return style;
}

// Thoughts may stand on both sides of calls, and calls inside of them.
ReasoningStyle apertus2509() {
  return {.name = "apertus2509",
          .open = "<|inner_prefix|>",
          .close = "<|inner_suffix|>",
          .interrupts = {"<|tools_prefix|>"},
          .repeats = true,
          .resumes = "<|tools_suffix|>"};
}

ReasoningStyle cohere_command4() {
  return {.name = "cohere_command4",
          .open = "<|START_THINKING|>",
          .close = "<|END_THINKING|>",
          .starts_inside = true,
          .interrupts = {"<|START_TEXT|>", "<|START_ACTION|>"},
          .frame = {"<|START_TEXT|>", "<|END_TEXT|>"}};
}

ReasoningStyle kimi_k3() {
  return {
      .name = "kimi_k3",
      .open = "<|open|>think<|sep|>",
      .close = "<|close|>think<|sep|>",
      .starts_inside = true,
      .interrupts = {"<|open|>tools<|sep|>", "<|open|>response<|sep|>"},
      .frame = {"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"}};
}

const std::vector<ReasoningStyle>& reasoning_styles() {
  static const std::vector<ReasoningStyle> all = {
      apertus2509(),
      cohere_command4(),
      think("deepseek-r1", true),
      think("deepseek-v3", false),
      think("deepseek-v4", false, {"<｜DSML｜tool_calls>"}),
      {.name = "gemma4", .open = "<|channel>thought\n", .close = "<channel|>"},
      think("glm45", false, {"<tool_call>"}),
      {.name = "gpt-oss", .open = {}, .close = {}, .has_channels = true},
      think("hunyuan", false, {"<tool_calls>"}),
      {.name = "hunyuan",
       .token = "<think:opensource>",
       .open = "<think:opensource>",
       .close = "</think:opensource>",
       .interrupts = {"<tool_calls:opensource>"}},
      hunyuan_a13b(),
      think("interns1", false, {"<|action_start|>"}),
      {.name = "kimi", .open = "◁think▷", .close = "◁/think▷"},
      think("kimi_k2", false, {"<|tool_calls_section_begin|>"}),
      kimi_k3(),
      think("mimo", false, {"<tool_call>"}),
      think("minimax", true, {"<minimax:tool_call>"}),
      minimax_append_think(),
      {.name = "minimax-m3",
       .open = "<mm:think>",
       .close = "</mm:think>",
       .interrupts = {"]<]minimax[>[<tool_call>"}},
      {.name = "mistral", .open = "[THINK]", .close = "[/THINK]"},
      think("nemotron_3", false, {"<tool_call>"}),
      think("qwen3", false, {"<tool_call>"}),
      think("qwen3-thinking", true, {"<tool_call>"}),
      think("step3", true, {"<｜tool_calls_begin｜>"}),
      think("step3p5", true, {"<tool_call>"})};
  return all;
}

// The most particular first: most families share "<think>", and the end of the prompt tells whether
// a template has opened it.
constexpr auto kReasoningSigns = std::to_array<TemplateSign>({
    {"<|inner_prefix|>", "", "apertus2509"},
    {"<|channel>", "", "gemma4"},
    {"◁think▷", "", "kimi"},
    {"[THINK]", "", "mistral"},
    {"<|channel|>", "", "gpt-oss"},
    {"<|START_THINKING|>", "", "cohere_command4"},
    {"<|open|>", "<|sep|>", "kimi_k3"},
    {"<mm:think>", "", "minimax-m3"},
    {"<|tool_calls_section_begin|>", "<think>", "kimi_k2"},
    {"<minimax:tool_call>", "<think>", "minimax"},
    {"<steptml:", "<think>", "step3"},
    {"<｜DSML｜tool_calls>", "<think>", "deepseek-v4"},
    {"<tool_sep>", "<think>", "hunyuan"},
    {"<think:opensource>", "", "hunyuan"},
    {"<answer>", "<tool_calls>", "hunyuan_a13b"},
    {"default_thinking_sys", "<think>", "interns1"},
    {"truncate_history_thinking", "<think>", "nemotron_3"},
    {"<arg_key>", "<think>", "glm45"},
    {"<tool_call>", "<think>", "qwen3"},
    {"<think>", "", "deepseek-v3"},
    {"</think>", "", "deepseek-v3"},
});

}  // namespace

const ReasoningStyle* reasoning_style_of_template(std::string_view source) {
  return find_reasoning_style(told_by(source, kReasoningSigns));
}

const ReasoningStyle* find_reasoning_style(std::string_view name) {
  const auto& all = reasoning_styles();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ReasoningStyle& style) { return style.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> reasoning_style_names() {
  std::vector<std::string_view> names;
  for (const ReasoningStyle& style : reasoning_styles())
    if (style.token.empty()) names.push_back(style.name);
  return names;
}

const ReasoningStyle* spelled_by(const ReasoningStyle* style,
                                 const std::function<bool(std::string_view)>& has_token) {
  for (const ReasoningStyle& other : reasoning_styles())
    if (style != nullptr && other.name == style->name && !other.token.empty() &&
        has_token(other.token))
      return &other;
  return style;
}

const ReasoningStyle& uninterrupted(const ReasoningStyle& style) {
  static const std::vector<ReasoningStyle> all = [] {
    std::vector<ReasoningStyle> copies = reasoning_styles();
    for (ReasoningStyle& copy : copies) copy.interrupts.clear();
    return copies;
  }();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ReasoningStyle& copy) {
    return copy.name == style.name && copy.token == style.token;
  });
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
  // White space at the end of a mark may be missing at the end of a prompt.
  prompt = trimmed(prompt);
  if (prompt.ends_with(trimmed(style.close))) return false;
  if (prompt.ends_with(trimmed(style.open))) return true;
  // What is continued without any mark is an answer.
  return style.starts_inside && wants_thinking && continued.empty();
}

bool may_open(const ReasoningStyle& style, std::string_view prompt, std::string_view continued,
              bool wants_thinking) {
  return !style.has_channels && wants_thinking && continued.empty() &&
         !trimmed(prompt).ends_with(trimmed(style.close)) &&
         !begins_inside(style, prompt, continued, wants_thinking);
}

}  // namespace foretoken
