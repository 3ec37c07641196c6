#pragma once
// The sampling part of a request: read from JSON with SGLang's validation texts, then resolved for
// one prompt into what the engine wants. Not the API bodies around it. Pure functions.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "engine/request.h"
#include "server/context/server_config.h"
#include "server/json/json_fields.h"
#include "server/request/asked_prompt.h"

namespace foretoken {

// `sampling_params` of /generate. Fields that do not exist are refused.
void read_native_sampling(Fields& fields, const ServerConfig& config, AskedPrompt& out);

// The sampling fields of the OpenAI bodies and SGLang's extras in them, except the token limit.
void read_openai_sampling(Fields& fields, const ServerConfig& config, AskedPrompt& out);

// The length that an OpenAI body names, by the first of `names` that it has; else by llama.cpp's
// n_predict, of which -1 and -2 are all that the context holds.
void read_openai_length(Fields& fields, std::initializer_list<std::string_view> names,
                        AskedPrompt& out);

// Sets `sampling` and `max_new_tokens` of the request for one choice, with the limits checked
// against the context. The prompt's tokens are those after truncation. Where the body names no
// length it is default_max_new_tokens, or less where the context ends; a length that the body
// names and the context has no room for is cut where cuts_length says so, else refused.
std::optional<Refusal> resolve_sampling(const AskedPrompt& asked, const ServerConfig& config,
                                        std::int64_t default_max_new_tokens, Request& out);

inline constexpr int kMaxChoices = 256;  // limit of n
inline constexpr std::size_t kMaxStopStrings = 128;
inline constexpr std::size_t kMaxStopBytes = 8192;      // of all stop strings together
inline constexpr std::size_t kMaxStopExpressions = 32;  // of stop_regex, of as many bytes
inline constexpr std::size_t kMaxStopTokens = 1024;     // looked through after every token
inline constexpr std::size_t kMaxBiases = 1024;         // applied to every row
inline constexpr std::size_t kMaxLogprobTokens = 1024;  // limit of token_ids_logprob

}  // namespace foretoken
