#pragma once
// How much memory the answer to one request may come to hold, computed before the request is
// accepted: 256 choices of 128k tokens with logprobs are cheap to ask for. Upper estimates, not
// accounting. Pure functions. In doubles, because products of asked numbers exceed 64 bits.

#include "server/request/asked_prompt.h"

namespace foretoken {

inline constexpr double kMaxHeldBytes = 512.0 * (1 << 20);  // of one request
// Of one choice whose events repeat all that came before.
inline constexpr double kMaxEventBytes = 32.0 * (1 << 20);

// The answer of one token of the output, or of a scored token of the prompt.
double answer_bytes_per_token(const AskedPrompt& asked);
// All that one choice holds besides its output.
double fixed_answer_bytes(const AskedPrompt& asked);

}  // namespace foretoken
