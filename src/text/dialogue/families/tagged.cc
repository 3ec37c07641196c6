#include "text/dialogue/families/families.h"

namespace foretoken::families {
namespace {

TaggedStyle keys_and_values() {
  return {.name_end = "",
          .key_begin = "<arg_key>",
          .key_end = "</arg_key>",
          .value_begin = "<arg_value>",
          .value_end = "</arg_value>",
          .call_end = "</tool_call>"};
}

CallStyle glm(std::string_view name) {
  return {.name = name, .begins = {"<tool_call>"}, .tagged = keys_and_values()};
}

CallStyle hunyuan() {
  CallStyle style{.name = "hunyuan",
                  .begins = {"<tool_calls>"},
                  .call_begin = {"<tool_call>"},
                  .section_end = "</tool_calls>",
                  .tagged = keys_and_values()};
  style.tagged->name_end = "<tool_sep>";
  style.tagged->name_end_may_miss = true;
  return style;
}

// The marks of a published vocabulary of the family.
CallStyle hunyuan_opensource() {
  return {.name = "hunyuan",
          .token = "<tool_calls:opensource>",
          .begins = {"<tool_calls:opensource>"},
          .call_begin = {"<tool_call:opensource>"},
          .section_end = "</tool_calls:opensource>",
          .tagged = TaggedStyle{.name_end = "<tool_sep:opensource>",
                                .name_end_may_miss = true,
                                .key_begin = "<arg_key:opensource>",
                                .key_end = "</arg_key:opensource>",
                                .value_begin = "<arg_value:opensource>",
                                .value_end = "</arg_value:opensource>",
                                .call_end = "</tool_call:opensource>"}};
}

CallStyle functions(std::string_view name, bool value_in_lines) {
  return {.name = name,
          .begins = {"<tool_call>", "<function="},
          .call_begin = {"<function="},
          .section_end = "</tool_call>",
          .tagged = TaggedStyle{.name_end = ">",
                                .key_begin = "<parameter=",
                                .key_end = ">",
                                .value_end = "</parameter>",
                                .call_end = "</function>",
                                .value_in_lines = value_in_lines}};
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

CallStyle dsml(std::string_view name, std::string_view begin, std::string_view end) {
  return {.name = name,
          .begins = {begin, "<｜DSML｜invoke name=\""},
          .call_begin = {"<｜DSML｜invoke name=\""},
          .section_end = end,
          .tagged = TaggedStyle{.name_end = "\">",
                                .name_closed = "\"/>",
                                .key_begin = "<｜DSML｜parameter name=\"",
                                .key_end = "\" string=\"",
                                .kind = KindStyle{.end = "\">", .text = "true", .other = "false"},
                                .value_end = "</｜DSML｜parameter>",
                                .call_end = "</｜DSML｜invoke>",
                                .takes_object = true}};
}

CallStyle kimi_k3() {
  return {
      .name = "kimi_k3",
      .begins = {"<|open|>tools<|sep|>"},
      .call_begin = {"<|open|>call tool=\""},
      .section_end = "<|close|>tools<|sep|>",
      .frame = {"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"},
      .tagged = TaggedStyle{.name_end = "\"",
                            .rest_end = "<|sep|>",
                            .rest = " index=\"[0-9]{1,4}\"",
                            .key_begin = "<|open|>argument key=\"",
                            .key_end = "\" type=\"",
                            .kind = KindStyle{.end = "\"<|sep|>", .text = "string"},
                            .value_end = "<|close|>argument<|sep|>",
                            .call_end = "<|close|>call<|sep|>",
                            .escapes_names = true}};
}

}  // namespace

void add_tagged(std::vector<CallStyle>& all) {
  all.insert(
      all.end(),
      {glm("glm45"), glm("glm47"), hunyuan(), hunyuan_opensource(), functions("qwen3_coder", true),
       functions("step3p5", true), functions("mimo", false), step3(), minimax_m2(),
       dsml("deepseekv32", "<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
       dsml("deepseekv4", "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"), kimi_k3()});
}

}  // namespace foretoken::families
