#pragma once
// What the two OpenAI routes share: the common part of the bodies, usage, logprobs, finish reasons
// and stream bookkeeping. Pure functions and plain structs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/context/server_context.h"
#include "server/json/json_fields.h"
#include "server/json/json_writer.h"
#include "server/request/answer_format.h"
#include "server/request/asked_prompt.h"

namespace foretoken {

// OpenAI's limit of top_logprobs.
inline constexpr int kMaxOpenAiLogprobs = 20;

// What the wording of an answer needs of its body.
struct OpenAiCommon {
  std::string id;
  std::string model;
  std::int64_t created = 0;  // seconds since 1970
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;  // usage in every chunk
  // Details that SGLang's clients ask for.
  bool token_ids = false;       // of each choice
  bool meta_info = false;       // of each choice, as /generate words it
  bool cached_details = false;  // where the cached tokens of the prompt were
};

// Reads the part of a body that both routes have. Of `prompt`: id, sampling, salt, deadline,
// drafts.
OpenAiCommon read_openai_common(Fields& fields, ServerContext& context, BodyKind kind,
                                AskedPrompt& prompt);

// Tokens of an answer.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t reasoning_tokens = 0;
  // Drafts from predictions; told where the request had one.
  bool has_prediction = false;
  std::int64_t accepted_prediction_tokens = 0;
  std::int64_t rejected_prediction_tokens = 0;

  void add(const RunningChoice& choice);
};
Usage usage_of(const std::vector<RunningChoice>& choices);
void write_usage(JsonWriter& json, const Usage& usage, const ServerConfig& config);

// "usage": of the choice so far where the request wants it in every chunk, else null.
void write_chunk_usage(JsonWriter& json, const OpenAiCommon& common, const RunningChoice& choice,
                       const ServerConfig& config);

// "speculative": what became of drafts, where the choice is complete and its request asked; and its
// steps from `from` on, where they are told.
void write_drafts(JsonWriter& json, const RunningChoice& choice, const ServerContext& context,
                  std::size_t from = 0);

// "finish_reason": ..., "matched_stop": ...; both null while it runs. At its end, its drafts.
void write_finish(JsonWriter& json, const RunningChoice& choice, const ServerContext& context,
                  std::size_t first_step = 0);

// id, object, created, model: the opening of answers and chunks.
void write_opening(JsonWriter& json, const OpenAiCommon& common, std::string_view object);

// usage, metadata and details, and the end of the object: the closing of answers.
void write_closing(JsonWriter& json, const OpenAiCommon& common,
                   const std::vector<RunningChoice>& choices, const ServerContext& context);

// The chunk with all of the usage and no choice.
std::string usage_chunk(const OpenAiCommon& common, std::string_view object,
                        const std::vector<RunningChoice>& choices, const ServerConfig& config);

// "token_ids" from the token `from` on, where the request asked for them.
void write_token_ids(JsonWriter& json, const OpenAiCommon& common, const RunningChoice& choice,
                     std::size_t from);

// "meta_info" of a choice that is over, where the request asked for it.
void write_meta_info(JsonWriter& json, const ServerContext& context, const OpenAiCommon& common,
                     const RunningChoice& choice);

// "hidden_states": the last one of a choice that is over, where the request asked for it.
void write_hidden_state(JsonWriter& json, const RunningChoice& choice);

// "sglext": details of the whole answer, where the request asked for some.
void write_extension(JsonWriter& json, const OpenAiCommon& common,
                     const std::vector<RunningChoice>& choices);

// The chunk that holds it and no choice.
std::string extension_chunk(const OpenAiCommon& common, std::string_view object,
                            const std::vector<RunningChoice>& choices);

// For a choice that failed after output began: the error event instead of a finish reason.
// False: nothing of that kind happened.
bool write_failure_event(const Choice& choice, std::string& out);

// token, bytes, logprob and top_logprobs of a token, as chats word them.
void write_logprob(JsonWriter& json, const Tokenizer& tokenizer, const SampledToken& token);

// A logprob as JSON can hold it: OpenAI writes minus infinity as -9999.
float shown_logprob(float logprob);

}  // namespace foretoken
