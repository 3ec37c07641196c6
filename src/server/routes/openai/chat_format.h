#pragma once
// ChatFormat: words the answers of /v1/chat/completions, whole and streamed. Not the reading of
// requests. One per request, on its strand.

#include <string>
#include <vector>

#include "server/chat/part_cursor.h"
#include "server/request/answer_format.h"
#include "server/routes/openai/chat_plan.h"

namespace foretoken {

class ChatFormat final : public AnswerFormat {
 public:
  ChatFormat(const ServerContext& context, ChatAnswer answer)
      : context_(context),
        common_(std::move(answer.common)),
        stream_reasoning_(answer.wishes.stream_reasoning) {}

  void write_event(const RunningChoice& choice, std::string& out) override;
  void write_ending(const std::vector<RunningChoice>& choices, std::string& out) override;
  HttpReply whole(const std::vector<RunningChoice>& choices) override;

 private:
  // Where a choice's stream is.
  struct Progress {
    PartCursor shown;
    int calls = 0;  // that have begun
  };
  // One chunk; null fields are absent.
  struct Delta {
    const char* role = nullptr;
    std::optional<std::string_view> content = {}, reasoning = {};
    std::optional<PartCursor::News> call = {};
    int call_index = 0;
    bool with_tokens = false;  // what is told of the new tokens
    bool with_finish = false;
  };

  void write_news(const RunningChoice& choice, std::string& out);
  std::string chunk(const RunningChoice& choice, const Delta& delta) const;
  void write_message(JsonWriter& json, const RunningChoice& choice) const;
  void write_logprobs(JsonWriter& json, const RunningChoice& choice, std::size_t from) const;

  const ServerContext& context_;
  OpenAiCommon common_;
  bool stream_reasoning_;
  std::vector<Progress> progress_;  // by choice
};

}  // namespace foretoken
