#include "text/dialogue/families/families.h"

namespace foretoken::families {
namespace {

CallStyle llama4() {
  return {.name = "llama4",
          .begins = {"<|python_start|>"},
          .section_end = "<|python_end|>",
          .between = "[],;",
          .bare = "{[",
          .object = ObjectStyle{.arguments_key = "parameters"},
          .takes_python = true};
}

CallStyle pythonic() {
  return {.name = "pythonic",
          .begins = {"<|python_start|>"},
          .section_end = "<|python_end|>",
          .between = "[],",
          .bare = "[",
          .takes_python = true};
}

CallStyle lfm2() {
  return {.name = "lfm2",
          .begins = {"<|tool_call_start|>"},
          .section_end = "<|tool_call_end|>",
          .between = "[],",
          .object = ObjectStyle{},
          .takes_python = true};
}

CallStyle minimax_m3() {
  return {.name = "minimax-m3",
          .begins = {"]<]minimax[>[<tool_call>"},
          .call_begin = {"]<]minimax[>[<invoke name=\""},
          .section_end = "]<]minimax[>[</tool_call>",
          .elements = ElementStyle{.name_end = "\">",
                                   .open = "]<]minimax[>[<",
                                   .close = "]<]minimax[>[</",
                                   .tag_end = ">",
                                   .item = "item",
                                   .call_end = "]<]minimax[>[</invoke>"}};
}

CallStyle gemma4() {
  return {.name = "gemma4",
          .begins = {"<|tool_call>"},
          .call_begin = {"<|tool_call>", "call:"},
          .call_end = {"<tool_call|>"},
          .loose = LooseStyle{.quote = "<|\"|>"}};
}

CallStyle gpt_oss() { return {.name = "gpt-oss", .begins = {}, .has_channels = true}; }

}  // namespace

void add_others(std::vector<CallStyle>& all) {
  all.insert(all.end(), {llama4(), pythonic(), lfm2(), minimax_m3(), gemma4(), gpt_oss()});
}

}  // namespace foretoken::families
