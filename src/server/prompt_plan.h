#pragma once
// From one prompt of a request body to the choices of a GenerationPlan: truncation, limits, ids,
// seeds. Shared by all generating routes.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation.h"
#include "server/json_fields.h"
#include "server/sampling_request.h"

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
  std::uint64_t cache_salt = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// Appends the choices of one prompt.
std::optional<Refusal> add_prompt(ServerContext& context, PromptPlan prompt, GenerationPlan& plan);

// Encodes text of a request; Refusal when the server runs without a tokenizer.
Result<std::vector<Token>> encode_prompt(const ServerContext& context, std::string_view text,
                                         AddSpecial special);

// Fields of every generating body: `extra_key` and `cache_salt` (separate prefix caches),
// `timeout_seconds` (an extension of ours: the request fails when it takes longer).
std::uint64_t read_cache_salt(Fields& fields);
std::optional<std::chrono::steady_clock::time_point> read_deadline(Fields& fields,
                                                                   const ServerConfig& config);

// Checks a number of alternatives asked for: in [0, kMaxTopLogprobs].
int read_top_logprobs(Fields& fields, std::string_view name);

}  // namespace foretoken
