#pragma once
// From one prompt of a request body to the choices of a GenerationPlan: truncation, limits, ids,
// seeds. Shared by all generating routes.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/chat/thought_budget.h"
#include "server/json/json_fields.h"
#include "server/request/draft_wish.h"
#include "server/request/generation.h"
#include "server/request/sampling_request.h"

namespace foretoken {

struct PromptPlan {
  std::string id;
  int number_from =
      -1;  // >= 0: choices are "<id>_<number>"; otherwise only where there are several
  std::vector<Token> tokens;
  SamplingFields sampling;
  std::optional<std::int64_t> default_max_new_tokens;  // nullopt: to the context limit
  int top_logprobs = -1;                               // -1: no logprobs
  std::int64_t logprob_start = -1;
  std::vector<Token> logprob_tokens;
  std::size_t echoed_bytes = 0;                  // text of the prompt that each choice repeats
  std::optional<std::vector<Token>> prediction;  // of each choice; nullopt: there is none
  std::optional<DraftWish> draft_wish;           // of each choice
  std::optional<ThoughtPlace> thoughts;          // nullopt: the prompt tells
  // Of the output, where no grammar is asked for; null: none.
  std::shared_ptr<const ConstraintSource> constraint;
  std::uint64_t cache_salt = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// Appends the choices of one prompt.
std::optional<Refusal> add_prompt(ServerContext& context, PromptPlan prompt, GenerationPlan& plan);

// Encodes text. Refused: a server without a tokenizer; more text than is tokenized at once.
Result<std::vector<Token>> encode_text(const ServerContext& context, std::string_view text,
                                       AddSpecial special);

// Encodes the text of a prompt. Refused besides: text that cannot fit into the context, told from
// its bytes before the work of encoding it; with --allow-auto-truncate it is cut instead.
Result<std::vector<Token>> encode_prompt(const ServerContext& context, std::string_view text,
                                         AddSpecial special);

// Refuses a `rid` that is no name: over-long, or with control characters, which could forge lines
// of a log.
void check_request_id(Fields& fields, std::string_view id);

// Fields of every generating body: `extra_key` and `cache_salt` (separate prefix caches),
// `timeout_seconds` (an extension of ours: the request fails when it takes longer).
std::uint64_t read_cache_salt(Fields& fields);
std::optional<std::chrono::steady_clock::time_point> read_deadline(Fields& fields,
                                                                   const ServerConfig& config);

// Reads a number of alternatives asked for: in [0, most].
int read_top_logprobs(Fields& fields, std::string_view name, std::int64_t most);

// Refuses lists of prompts that are longer than a request may be, before they are read.
std::optional<Refusal> check_batch_size(std::size_t prompts);

}  // namespace foretoken
