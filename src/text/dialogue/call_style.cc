#include "text/dialogue/call_style.h"

#include <algorithm>
#include <array>

#include "text/dialogue/families/families.h"
#include "text/dialogue/template_signs.h"

namespace foretoken {
namespace {

const std::vector<CallStyle>& call_styles() {
  static const std::vector<CallStyle> all = [] {
    std::vector<CallStyle> list;
    families::add_objects(list);
    families::add_named(list);
    families::add_tagged(list);
    families::add_others(list);
    return list;
  }();
  return all;
}

// The most particular first: several families share marks.
constexpr std::string_view kDeepseekCalls = "<｜tool▁calls▁begin｜>";

constexpr std::array kCallSigns = std::to_array<TemplateSign>({
    {kDeepseekCalls, "```json", "deepseekv3"},
    {kDeepseekCalls, "", "deepseekv31"},
    {"<｜DSML｜function_calls>", "", "deepseekv32"},
    {"<｜DSML｜tool_calls>", "", "deepseekv4"},
    {"<|tool_calls_section_begin|>", "", "kimi_k2"},
    {"<|open|>", "<|sep|>", "kimi_k3"},
    {"<steptml:", "", "step3"},
    {"<minimax:tool_call>", "", "minimax-m2"},
    {"]<]minimax[>[", "", "minimax-m3"},
    {"<|inner_prefix|>", "", "apertus2509"},
    {"<|tools_prefix|>", "", "apertus2509"},
    {"<|tool_call>", "", "gemma4"},
    {"<|channel|>", "", "gpt-oss"},
    {"[TOOL_CALLS]", "", "mistral"},
    {"<|START_ACTION|>", "tool_name", "cohere_command4"},
    {"<|tool_call_start|>", "", "lfm2"},
    {"<|action_start|>", "<|plugin|>", "interns1"},
    {"function call<|role_sep|>", "", "gigachat3"},
    {"<|function_call|>", "<|role_sep|>", "gigachat3"},
    {"<tool_sep>", "<tool_calls>", "hunyuan"},
    {"<tool_calls:opensource>", "", "hunyuan"},
    {"'<tool_call>' + tc.name", "<arg_key>", "glm47"},
    {"<arg_key>", "", "glm45"},
    {"Step-3.5", "<function=", "step3p5"},
    {"<function=", "", "qwen3_coder"},
    {"<tool_calls>", "<answer>", "hunyuan_a13b"},
    {"<tool_call>", "", "qwen25"},
    {"<|python_start|>", "", "llama4"},
    {"<|header_start|>", "", "llama4"},
    {"<|python_tag|>", "", "llama3"},
    // Llama 3 without the tag: what its template tells the model to write.
    {"\"parameters\": dictionary of argument name", "", "llama3"},
});

}  // namespace

const CallStyle* find_call_style(std::string_view name) {
  const auto& all = call_styles();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CallStyle& style) { return style.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const CallStyle* spelled_by(const CallStyle* style,
                            const std::function<bool(std::string_view)>& has_token) {
  for (const CallStyle& other : call_styles())
    if (style != nullptr && other.name == style->name && !other.token.empty() &&
        has_token(other.token))
      return &other;
  return style;
}

const CallStyle& listed_calls() {
  static const CallStyle style{
      .name = "a list", .begins = {}, .between = "[],", .bare = "[", .object = ObjectStyle{}};
  return style;
}

std::vector<std::string_view> call_style_names() {
  std::vector<std::string_view> names;
  for (const CallStyle& style : call_styles())
    if (style.token.empty()) names.push_back(style.name);
  return names;
}

const CallStyle* call_style_of_template(std::string_view source) {
  return find_call_style(told_by(source, kCallSigns));
}

}  // namespace foretoken
