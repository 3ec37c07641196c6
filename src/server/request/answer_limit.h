#pragma once
// How much memory one request may come to hold, computed before it is accepted: a request is cheap
// to write, and 256 choices with 128k tokens and their logprobs are not. Estimates from above of
// what answers are made of; not accounting. Pure functions. Doubles, because products of what
// clients ask for exceed 64 bits.

#include <cstdint>

#include "server/request/sampling_request.h"

namespace foretoken {

// What a choice may hold besides its output.
struct AnswerNeeds {
  double scored_tokens = 0;     // prompt tokens with logprobs
  int top_logprobs = -1;        // < 0: no logprobs
  double further_logprobs = 0;  // ids whose logprobs are asked for
  double repeated_bytes = 0;    // echoed prompt
};

inline constexpr double kMaxHeldBytes = 512.0 * (1 << 20);  // of one request
// Of one choice whose events repeat all that came before.
inline constexpr double kMaxEventBytes = 32.0 * (1 << 20);

// The answer of one token of the output, or of a scored token of the prompt.
double answer_bytes_per_token(const AnswerNeeds& needs);
// All but the output.
double fixed_answer_bytes(const AnswerNeeds& needs, const SamplingFields& sampling);

}  // namespace foretoken
