#pragma once
// NativeFormat: words the answers of /generate: text, output_ids and meta_info, alone or as a list;
// streamed with cumulative text (or deltas where the server is set so). One per request, on its
// strand.

#include <string>
#include <vector>

#include "server/context/server_context.h"
#include "server/json/json_writer.h"
#include "server/request/answer_format.h"
#include "server/request/meta_info.h"

namespace foretoken {

class NativeFormat final : public AnswerFormat {
 public:
  struct Options {
    bool is_list = false;           // the answer is a list, events carry an index
    bool text_in_logprobs = false;  // else null
  };
  NativeFormat(const ServerContext& context, Options options)
      : context_(context), options_(options), meta_(context, options.text_in_logprobs) {}

  void write_event(const RunningChoice& choice, std::string& out) override;
  void write_ending(const std::vector<RunningChoice>& choices, std::string& out) override;
  HttpReply whole(const std::vector<RunningChoice>& choices) override;

 private:
  void write_choice(JsonWriter& json, const RunningChoice& choice) const;

  const ServerContext& context_;
  Options options_;
  MetaInfo meta_;
};

}  // namespace foretoken
