#pragma once
// CompletionFormat: words the answers of /v1/completions, whole and streamed. Not the reading of
// requests. One per request, on its strand.

#include <string>
#include <vector>

#include "server/request/answer_format.h"
#include "server/routes/openai/types.h"

namespace foretoken {

class CompletionFormat final : public AnswerFormat {
 public:
  // echo: the texts of the prompts, which the answers then begin with; empty: no echo.
  CompletionFormat(const ServerContext& context, OpenAiCommon common, std::vector<std::string> echo)
      : context_(context), common_(std::move(common)), echo_(std::move(echo)) {}

  void write_event(const RunningChoice& choice, std::string& out) override;
  void write_ending(const std::vector<RunningChoice>& choices, std::string& out) override;
  HttpReply whole(const std::vector<RunningChoice>& choices) override;

 private:
  struct Logprobs;
  const std::string& echo_of(const RunningChoice& choice) const;
  void write_choice(JsonWriter& json, const RunningChoice& choice, bool with_finish) const;
  void write_logprobs(JsonWriter& json, const RunningChoice& choice) const;

  const ServerContext& context_;
  OpenAiCommon common_;
  std::vector<std::string> echo_;
};

}  // namespace foretoken
