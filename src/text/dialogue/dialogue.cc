#include "text/dialogue/dialogue.h"

#include "text/dialogue/channel_parser.h"
#include "text/dialogue/think_parser.h"

namespace foretoken {

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
  if (dialogue.reasoning != nullptr)
    parser = std::make_unique<ThinkParser>(*dialogue.reasoning, dialogue.begins_inside,
                                           std::move(parser));
  return parser;
}

}  // namespace foretoken
