#pragma once
// The sampling part of a request: read from JSON with SGLang's validation texts, then resolved for
// one prompt into what the engine wants. Not the API bodies around it. Pure functions.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "batch/sampling.h"
#include "server/chat/thought_limit.h"
#include "server/context/server_config.h"
#include "server/json/json_fields.h"
#include "server/structured/grammar_request.h"
#include "text/stop_matcher.h"

namespace foretoken {

// As asked; unset means the route's default.
struct SamplingFields {
  std::optional<double> temperature, top_p, min_p;
  std::optional<double> frequency_penalty, presence_penalty, repetition_penalty;
  std::optional<std::int64_t> top_k, max_new_tokens, min_new_tokens;
  std::optional<std::uint64_t> seed;
  int n = 1;
  std::shared_ptr<const StopStrings> stop;  // null: none
  std::vector<Token> stop_token_ids;        // in the vocabulary, ascending, each once
  std::vector<std::pair<Token, float>> logit_bias;
  std::optional<GrammarRequest> grammar;  // what the output must be
  std::optional<ThoughtLimit> thoughts;   // how many tokens may be thought
  bool ignore_eos = false;
  bool skip_special_tokens = true;
  bool no_stop_trim = false;
  std::optional<std::int64_t> stream_interval;
  bool fills_context = false;  // max_new_tokens is null: no number, and no default either
};

// `sampling_params` of /generate. Fields that do not exist are refused.
SamplingFields read_native_sampling(Fields& fields, const ServerConfig& config);

// The sampling fields of the OpenAI bodies and SGLang's extras in them, except the token limit.
SamplingFields read_openai_sampling(Fields& fields, const ServerConfig& config);

// Sampling for one choice of one prompt, the limits checked against the context.
struct ResolvedSampling {
  SamplingParams params;
  int max_new_tokens = 0;
};

// prompt_tokens: after truncation. default_max_new_tokens: when the request names none; nullopt =
// to the context limit; a default shrinks to fit, a request's own number is refused.
Result<ResolvedSampling> resolve_sampling(const SamplingFields& fields, const ServerConfig& config,
                                          std::int64_t prompt_tokens,
                                          std::optional<std::int64_t> default_max_new_tokens);

inline constexpr int kMaxChoices = 256;  // limit of n
inline constexpr std::size_t kMaxStopStrings = 128;
inline constexpr std::size_t kMaxStopBytes = 8192;      // of all stop strings together
inline constexpr std::size_t kMaxStopExpressions = 32;  // of stop_regex, of as many bytes
inline constexpr std::size_t kMaxStopTokens = 1024;     // looked through after every token
inline constexpr std::size_t kMaxBiases = 1024;         // applied to every row
inline constexpr std::size_t kMaxLogprobTokens = 1024;  // limit of token_ids_logprob

}  // namespace foretoken
