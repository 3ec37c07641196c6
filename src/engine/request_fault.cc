#include "engine/request_fault.h"

#include <algorithm>

#include <fmt/format.h>

namespace foretoken {

std::optional<Refusal> fault_of(const Request& request, std::int64_t vocab, std::int64_t context) {
  const auto input = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t output = request.max_new_tokens;
  if (input == 0) return Refusal{.message = "The input is empty: at least one token is needed."};
  if (!request.prompt.all_in(vocab)) {
    const auto strange = std::find_if(request.prompt.begin(), request.prompt.end(),
                                      [&](Token token) { return token < 0 || token >= vocab; });
    return Refusal{.message = fmt::format(
                       "The input contains token id {}, which is not in the vocabulary [0, {}).",
                       *strange, vocab)};
  }
  if (request.hidden_start >= input)
    return Refusal{.message = fmt::format("hidden_start must be below {}, the number of input "
                                          "tokens, got {}.",
                                          input, request.hidden_start)};
  if (!request.prediction.all_in(vocab))
    return Refusal{.message = "The prediction contains tokens that are not in the vocabulary."};
  if (output < 0)
    return Refusal{.message = fmt::format("max_new_tokens must be at least 0, got {}.", output)};
  if (input >= context)
    return Refusal{.message = fmt::format("The input ({} tokens) is longer than the model's "
                                          "context length ({} tokens).",
                                          input, context)};
  if (input + output > context)
    return Refusal{
        .message = fmt::format(
            "Requested token count exceeds the model's maximum context length of {} tokens. You "
            "requested a total of {} tokens: {} tokens from the input messages and {} tokens for "
            "the completion. Please reduce the number of tokens in the input messages or the "
            "completion to fit within the limit.",
            context, input + output, input, output)};
  return std::nullopt;
}

}  // namespace foretoken
