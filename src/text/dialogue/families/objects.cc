#include "text/dialogue/families/families.h"

namespace foretoken::families {
namespace {

constexpr ObjectStyle kParameters{.arguments_key = "parameters"};

CallStyle hermes(std::string_view name) {
  return {.name = name,
          .begins = {"<tool_call>"},
          .call_end = {"</tool_call>"},
          .object = ObjectStyle{}};
}

CallStyle llama3() {
  return {.name = "llama3",
          .begins = {"<|python_tag|>"},
          .between = ";,",
          .bare = "{",
          .object = kParameters};
}

CallStyle mistral() {
  return {.name = "mistral",
          .begins = {"[TOOL_CALLS]"},
          .between = "[],",
          .object = ObjectStyle{},
          .named = NamedStyle{.name_end = "[ARGS]", .ends_at_brace = true, .id_mark = "[CALL_ID]"},
          .short_ids = true};
}

// White space stands between the marks where a tokenizer puts it between special tokens.
CallStyle interns1() {
  return {.name = "interns1",
          .begins = {"<|action_start|>"},
          .call_begin = {"<|action_start|>", "<|plugin|>"},
          .spaced_marks = true,
          .call_end = {"<|action_end|>"},
          .object = kParameters};
}

CallStyle hunyuan_a13b() {
  return {.name = "hunyuan_a13b",
          .begins = {"<tool_calls>"},
          .section_end = "</tool_calls>",
          .between = "[],",
          .frame = {"<answer>\n", "\n</answer>"},
          .object = ObjectStyle{}};
}

CallStyle cohere_command4() {
  return {.name = "cohere_command4",
          .begins = {"<|START_ACTION|>"},
          .section_end = "<|END_ACTION|>",
          .between = "[],",
          .frame = {"<|START_TEXT|>", "<|END_TEXT|>"},
          .object = ObjectStyle{.name_key = "tool_name",
                                .arguments_key = "parameters",
                                .id_key = "tool_call_id",
                                .id_first = true}};
}

CallStyle apertus2509() {
  return {.name = "apertus2509",
          .begins = {"<|tools_prefix|>"},
          .section_end = "<|tools_suffix|>",
          .between = "[],",
          .object = ObjectStyle{.name_key = {}, .name_is_key = true}};
}

// One call at the end of an answer, in a message of its own or behind a mark.
CallStyle gigachat3() {
  return {.name = "gigachat3",
          .begins = {"<|function_call|>", "function call<|role_sep|>"},
          .frame = {"<|message_sep|>"},
          .object = ObjectStyle{}};
}

}  // namespace

void add_objects(std::vector<CallStyle>& all) {
  all.insert(all.end(),
             {hermes("hermes"), hermes("qwen25"), hermes("qwen"), llama3(), mistral(), interns1(),
              hunyuan_a13b(), cohere_command4(), apertus2509(), gigachat3()});
}

}  // namespace foretoken::families
