#include "text/dialogue/families/families.h"

namespace foretoken::families {
namespace {

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

}  // namespace

void add_named(std::vector<CallStyle>& all) {
  all.insert(all.end(), {deepseekv3(), deepseekv31(), kimi_k2()});
}

}  // namespace foretoken::families
