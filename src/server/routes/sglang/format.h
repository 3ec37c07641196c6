#pragma once
// NativeFormat: words the answers of /generate: text, output_ids and meta_info, alone or as a list;
// streamed with cumulative text (or deltas where the server is set so). One per request, on its
// strand.

#include <string>
#include <vector>

#include "server/context/server_context.h"
#include "server/json/json_writer.h"
#include "server/request/answer_format.h"

namespace foretoken {

class NativeFormat final : public AnswerFormat {
 public:
  struct Options {
    bool is_list = false;           // the answer is a list, events carry an index
    bool text_in_logprobs = false;  // else null
  };
  NativeFormat(const ServerContext& context, Options options)
      : context_(context), options_(options) {}

  void write_event(const RunningChoice& choice, std::string& out) override;
  void write_ending(const std::vector<RunningChoice>& choices, std::string& out) override;
  HttpReply whole(const std::vector<RunningChoice>& choices) override;

 private:
  void write_choice(JsonWriter& json, const RunningChoice& choice) const;
  void write_meta(JsonWriter& json, const RunningChoice& choice) const;
  void write_finish(JsonWriter& json, const RunningChoice& choice) const;
  void write_logprobs(JsonWriter& json, const RunningChoice& choice) const;
  void write_spec(JsonWriter& json, const RunningChoice& choice) const;
  void write_triple(JsonWriter& json, float logprob, Token token) const;
  void write_tops(JsonWriter& json, const std::vector<SampledToken>& tokens,
                  std::size_t from) const;
  void write_wanted(JsonWriter& json, const RunningChoice& choice,
                    const std::vector<SampledToken>& tokens, std::size_t from) const;

  const ServerContext& context_;
  Options options_;
};

}  // namespace foretoken
