#pragma once
// ChatFormat: words the answers of /v1/chat/completions, whole and streamed. Not the reading of
// requests. One per request, on its strand.

#include <string>
#include <vector>

#include "server/generation.h"
#include "server/openai/types.h"

namespace foretoken {

class ChatFormat final : public AnswerFormat {
 public:
  ChatFormat(const ServerContext& context, OpenAiCommon common)
      : context_(context), common_(std::move(common)) {}

  void write_event(const RunningChoice& choice, std::string& out) override;
  void write_ending(const std::vector<RunningChoice>& choices, std::string& out) override;
  HttpReply whole(const std::vector<RunningChoice>& choices) override;

 private:
  struct Delta {
    const char* role = nullptr;
    const std::string* content = nullptr;
    bool with_logprobs = false;
    bool with_finish = false;
  };
  std::string chunk(const RunningChoice& choice, const Delta& delta) const;
  void write_logprobs(JsonWriter& json, const RunningChoice& choice, std::size_t from) const;
  void write_token(JsonWriter& json, Token token, float logprob) const;

  const ServerContext& context_;
  OpenAiCommon common_;
};

}  // namespace foretoken
