#include "text/dialogue/dialogue.h"

#include <algorithm>

#include "text/dialogue/channel_parser.h"
#include "text/dialogue/frame_parser.h"
#include "text/dialogue/think_parser.h"

namespace foretoken {

namespace {

std::vector<std::string_view> frame_of(const Dialogue& dialogue) {
  std::vector<std::string_view> marks;
  const auto add = [&](const std::vector<std::string_view>& more) {
    for (const std::string_view mark : more)
      if (std::ranges::count(marks, mark) == 0) marks.push_back(mark);
  };
  if (dialogue.reasoning != nullptr) add(dialogue.reasoning->frame);
  if (dialogue.calls != nullptr) add(dialogue.calls->frame);
  if (dialogue.family != nullptr) add(dialogue.family->frame);
  return marks;
}

}  // namespace

std::unique_ptr<AnswerParser> make_answer_parser(const Dialogue& dialogue) {
  const bool reasons_on_channels =
      dialogue.reasoning != nullptr && dialogue.reasoning->has_channels;
  const bool calls_on_channels = dialogue.calls != nullptr && dialogue.calls->has_channels;
  if (reasons_on_channels || calls_on_channels) {
    ChannelOptions options{.separates_reasoning = reasons_on_channels, .calls = {}};
    if (calls_on_channels) options.calls = dialogue.call_options;
    return std::make_unique<ChannelParser>(std::move(options));
  }
  std::unique_ptr<AnswerParser> parser;
  if (dialogue.calls != nullptr)
    parser = std::make_unique<CallParser>(*dialogue.calls, dialogue.call_options);
  else
    parser = std::make_unique<PlainParser>();
  if (auto frame = frame_of(dialogue); !frame.empty())
    parser = std::make_unique<FrameParser>(std::move(frame), std::move(parser));
  if (dialogue.reasoning != nullptr)
    parser = std::make_unique<ThinkParser>(*dialogue.reasoning, dialogue.begins_inside,
                                           std::move(parser));
  return parser;
}

std::vector<std::string_view> marks_of(const Dialogue& dialogue) {
  std::vector<std::string_view> marks = frame_of(dialogue);
  const auto add = [&](const std::vector<std::string_view>& more) {
    marks.insert(marks.end(), more.begin(), more.end());
  };
  if (const ReasoningStyle* reasoning = dialogue.reasoning) {
    add({reasoning->open, reasoning->close});
    add(reasoning->interrupts);
    if (reasoning->has_channels) add({"<|channel|>"});
  }
  if (const CallStyle* calls = dialogue.calls) {
    add(calls->begins);
    add(calls->call_begin);
    add(calls->call_end);
    add({calls->section_end});
    if (calls->named) add({calls->named->name_end, calls->named->id_mark});
    if (calls->tagged)
      add({calls->tagged->name_end, calls->tagged->key_begin, calls->tagged->key_end,
           calls->tagged->value_begin, calls->tagged->value_end, calls->tagged->call_end});
    if (calls->elements) add({calls->elements->open, calls->elements->call_end});
    if (calls->loose) add({calls->loose->quote});
    if (calls->has_channels) add({"<|channel|>"});
  }
  std::erase(marks, std::string_view());
  return marks;
}

}  // namespace foretoken
