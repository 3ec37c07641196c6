#pragma once
// MetaInfo: words `meta_info`, SGLang's details of one choice: ids, how it ended, counts, logprobs,
// drafts. Not the answer around it. Const use from any thread.

#include <cstddef>
#include <vector>

#include "server/context/server_context.h"
#include "server/json/json_writer.h"
#include "server/request/answer_format.h"

namespace foretoken {

class MetaInfo {
 public:
  // text_in_logprobs: else their texts are null.
  MetaInfo(const ServerContext& context, bool text_in_logprobs)
      : context_(context), text_in_logprobs_(text_in_logprobs) {}

  // An object. Events of deltas have the logprobs of what the choice gained since its last one.
  void write(JsonWriter& json, const RunningChoice& choice) const;

 private:
  void write_finish(JsonWriter& json, const RunningChoice& choice) const;
  void write_logprobs(JsonWriter& json, const RunningChoice& choice) const;
  void write_hidden(JsonWriter& json, const RunningChoice& choice) const;
  void write_spec(JsonWriter& json, const RunningChoice& choice) const;
  void write_triple(JsonWriter& json, float logprob, Token token) const;
  void write_tops(JsonWriter& json, const std::vector<SampledToken>& tokens,
                  std::size_t from) const;
  void write_wanted(JsonWriter& json, const RunningChoice& choice,
                    const std::vector<SampledToken>& tokens, std::size_t from) const;

  const ServerContext& context_;
  bool text_in_logprobs_;
};

}  // namespace foretoken
