#include "text/dialogue/call_style.h"

#include <algorithm>
#include <array>
#include <utility>

namespace foretoken {
namespace {

CallStyle hermes(std::string_view name) {
  return {
      .name = name, .begins = {"<tool_call>"}, .call_end = {"</tool_call>"}, .takes_object = true};
}

CallStyle llama3() {
  return {.name = "llama3",
          .begins = {"<|python_tag|>"},
          .between = ";,",
          .bare = "{",
          .takes_object = true};
}

CallStyle llama4() {
  return {.name = "llama4",
          .begins = {"<|python_start|>"},
          .section_end = "<|python_end|>",
          .between = "[],;",
          .bare = "{[",
          .takes_object = true,
          .takes_python = true};
}

CallStyle mistral() {
  return {.name = "mistral",
          .begins = {"[TOOL_CALLS]"},
          .between = "[],",
          .takes_object = true,
          .named = NamedStyle{.name_end = "[ARGS]", .ends_at_brace = true, .id_mark = "[CALL_ID]"},
          .short_ids = true};
}

CallStyle pythonic() {
  return {.name = "pythonic",
          .begins = {"<|python_start|>"},
          .section_end = "<|python_end|>",
          .between = "[],",
          .bare = "[",
          .takes_python = true};
}

constexpr std::string_view kDeepseekBegin = "<｜tool▁calls▁begin｜>",
                           kDeepseekEnd = "<｜tool▁calls▁end｜>",
                           kDeepseekCall = "<｜tool▁call▁begin｜>",
                           kDeepseekCallEnd = "<｜tool▁call▁end｜>",
                           kDeepseekSeparator = "<｜tool▁sep｜>";

CallStyle deepseekv3() {
  return {.name = "deepseekv3",
          .begins = {kDeepseekBegin},
          .call_begin = {kDeepseekCall, "function", kDeepseekSeparator},
          .call_end = {"```", kDeepseekCallEnd},
          .section_end = kDeepseekEnd,
          .named = NamedStyle{.name_end = "```json"}};
}

CallStyle deepseekv31() {
  return {.name = "deepseekv31",
          .begins = {kDeepseekBegin},
          .call_begin = {kDeepseekCall},
          .call_end = {kDeepseekCallEnd},
          .section_end = kDeepseekEnd,
          .named = NamedStyle{.name_end = kDeepseekSeparator}};
}

CallStyle kimi_k2() {
  return {
      .name = "kimi_k2",
      .begins = {"<|tool_calls_section_begin|>"},
      .call_begin = {"<|tool_call_begin|>"},
      .call_end = {"<|tool_call_end|>"},
      .section_end = "<|tool_calls_section_end|>",
      .named = NamedStyle{
          .name_end = "<|tool_call_argument_begin|>", .prefix = "functions.", .name_is_id = true}};
}

CallStyle glm45() {
  return {.name = "glm45",
          .begins = {"<tool_call>"},
          .tagged = TaggedStyle{.name_end = "",
                                .key_begin = "<arg_key>",
                                .key_end = "</arg_key>",
                                .value_begin = "<arg_value>",
                                .value_end = "</arg_value>",
                                .call_end = "</tool_call>"}};
}

CallStyle qwen3_coder() {
  return {.name = "qwen3_coder",
          .begins = {"<tool_call>", "<function="},
          .call_begin = {"<function="},
          .section_end = "</tool_call>",
          .tagged = TaggedStyle{.name_end = ">",
                                .key_begin = "<parameter=",
                                .key_end = ">",
                                .value_end = "</parameter>",
                                .call_end = "</function>",
                                .value_in_lines = true}};
}

CallStyle step3() {
  return {.name = "step3",
          .begins = {"<｜tool_calls_begin｜>"},
          .call_begin = {"<｜tool_call_begin｜>", "function", "<｜tool_sep｜>",
                         "<steptml:invoke name=\""},
          .call_end = {"<｜tool_call_end｜>"},
          .section_end = "<｜tool_calls_end｜>",
          .tagged = TaggedStyle{.name_end = "\">",
                                .key_begin = "<steptml:parameter name=\"",
                                .key_end = "\">",
                                .value_end = "</steptml:parameter>",
                                .call_end = "</steptml:invoke>"}};
}

CallStyle minimax_m2() {
  return {.name = "minimax-m2",
          .begins = {"<minimax:tool_call>"},
          .call_begin = {"<invoke name=\""},
          .section_end = "</minimax:tool_call>",
          .tagged = TaggedStyle{.name_end = "\">",
                                .key_begin = "<parameter name=\"",
                                .key_end = "\">",
                                .value_end = "</parameter>",
                                .call_end = "</invoke>"}};
}

CallStyle gpt_oss() { return {.name = "gpt-oss", .begins = {}, .has_channels = true}; }

const std::vector<CallStyle>& styles() {
  static const std::vector<CallStyle> all = {
      llama3(),         llama4(),  hermes("qwen25"), hermes("qwen"), qwen3_coder(),
      hermes("hermes"), mistral(), pythonic(),       deepseekv3(),   deepseekv31(),
      kimi_k2(),        glm45(),   gpt_oss(),        step3(),        minimax_m2()};
  return all;
}

}  // namespace

const CallStyle* find_call_style(std::string_view name) {
  const auto& all = styles();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CallStyle& style) { return style.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const CallStyle& listed_calls() {
  static const CallStyle style{
      .name = "a list", .begins = {}, .between = "[],", .bare = "[", .takes_object = true};
  return style;
}

std::vector<std::string_view> call_style_names() {
  std::vector<std::string_view> names;
  for (const CallStyle& style : styles()) names.push_back(style.name);
  return names;
}

const CallStyle* call_style_of_template(std::string_view source) {
  const auto has = [&](std::string_view mark) {
    return source.find(mark) != std::string_view::npos;
  };
  // The most particular marks first: several families share "<tool_call>".
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kSigns{{
      {"<|tool_calls_section_begin|>", "kimi_k2"},
      {"<steptml:", "step3"},
      {"<minimax:tool_call>", "minimax-m2"},
      {"<|channel|>", "gpt-oss"},
      {"[TOOL_CALLS]", "mistral"},
      {"<arg_key>", "glm45"},
      {"<function=", "qwen3_coder"},
      {"<tool_call>", "qwen25"},
      {"<|python_start|>", "llama4"},
      {"<|header_start|>", "llama4"},
      {"<|python_tag|>", "llama3"},
      // Llama 3 without the tag: what its template tells the model to write.
      {"\"parameters\": dictionary of argument name", "llama3"},
  }};
  if (has(kDeepseekBegin)) return find_call_style(has("```json") ? "deepseekv3" : "deepseekv31");
  for (const auto& [mark, name] : kSigns)
    if (has(mark)) return find_call_style(name);
  return nullptr;
}

}  // namespace foretoken
