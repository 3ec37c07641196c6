#pragma once
// MessagesFormat: words the answers of /v1/messages, whole and streamed. Not the reading of
// requests. One per request, on its strand.

#include <string>
#include <string_view>
#include <vector>

#include "server/chat/part_cursor.h"
#include "server/request/answer_format.h"
#include "server/routes/openai/chat_plan.h"

namespace foretoken {

class MessagesFormat final : public AnswerFormat {
 public:
  MessagesFormat(const ServerContext& context, ChatAnswer answer)
      : context_(context), common_(std::move(answer.common)) {}

  void write_event(const RunningChoice& choice, std::string& out) override;
  void write_ending(const std::vector<RunningChoice>&, std::string&) override {}
  bool ends_with_done() const override { return false; }
  HttpReply whole(const std::vector<RunningChoice>& choices) override;

 private:
  void write_part(const PartCursor::News& news, std::string& out) const;
  void write_end(const RunningChoice& choice, std::string& out) const;
  void write_usage(JsonWriter& json, const RunningChoice& choice) const;
  // All of a message but its content.
  void write_opening(JsonWriter& json) const;

  const ServerContext& context_;
  OpenAiCommon common_;
  PartCursor shown_;
};

}  // namespace foretoken
