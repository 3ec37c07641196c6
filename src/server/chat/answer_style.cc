#include "server/chat/answer_style.h"

#include <algorithm>
#include <array>

#include <boost/json/value.hpp>

#include "server/chat/reasoning_wish.h"

namespace foretoken {

PartWishes read_part_wishes(Fields& fields) {
  PartWishes wishes;
  wishes.separate_reasoning = fields.boolean("separate_reasoning").value_or(true);
  wishes.stream_reasoning = fields.boolean("stream_reasoning").value_or(true);
  wishes.parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
  auto variables = read_reasoning_wish(fields).variables();
  if (const auto* kwargs = fields.object("chat_template_kwargs"))
    for (const auto& [name, value] : *kwargs) variables[name] = value;
  for (const char* name : {"enable_thinking", "thinking"})
    if (const auto* value = variables.if_contains(name); value != nullptr && value->is_bool())
      wishes.wants_thinking = wishes.wants_thinking && value->get_bool();
  return wishes;
}

ThoughtPlace thoughts_of(const ServerContext& context, const ChatPrompt& prompt,
                         const PartWishes& wishes) {
  const ReasoningStyle* style = context.reasoning_style;
  if (style == nullptr) return {};
  const bool wants = wishes.wants_thinking;
  return {.style = style,
          .begins_inside = begins_inside(*style, prompt.text, prompt.continued, wants),
          .may_open = may_open(*style, prompt.text, prompt.continued, wants)};
}

std::shared_ptr<Dialogue> dialogue_of(const ServerContext& context, const ChatPrompt& prompt,
                                      const PartWishes& wishes) {
  auto dialogue = std::make_shared<Dialogue>();
  dialogue->family = context.call_style;
  if (wishes.separate_reasoning) dialogue->reasoning = context.reasoning_style;
  if (dialogue->reasoning != nullptr)
    dialogue->begins_inside = thoughts_of(context, prompt, wishes).begins_inside;
  if (prompt.demands_call && dialogue->reasoning != nullptr && dialogue->reasoning->has_channels)
    dialogue->reasoning = nullptr;  // a list of calls is no message on a channel
  if (prompt.tools == nullptr || (context.call_style == nullptr && !prompt.demands_call))
    return dialogue;
  const CallStyle& family = context.call_style != nullptr ? *context.call_style : listed_calls();
  dialogue->calls = prompt.demands_call ? &listed_calls() : &family;
  dialogue->call_options = {.tools = prompt.tools,
                            .whole_calls = wishes.whole_calls,
                            .one_call = !wishes.parallel_calls,
                            .new_id = [&family] { return new_call_id(family); }};
  return dialogue;
}

bool needs_special_text(const Dialogue& dialogue, const Tokenizer& tokenizer) {
  const auto marks = marks_of(dialogue);
  return std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) {
    const auto token = tokenizer.token_id(mark);
    return token && tokenizer.is_special(*token);
  });
}

std::string new_call_id(const CallStyle& style) {
  const std::string random = new_request_id();
  return style.short_ids ? random.substr(0, 9) : "call_" + random.substr(0, 24);
}

}  // namespace foretoken
