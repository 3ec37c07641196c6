#include "server/request/answer_limit.h"

namespace foretoken {
namespace {

// A token in memory with its text, and as a number in the answer.
constexpr double kTokenBytes = 96;
// A logprob in memory, and with text and bytes of its token as JSON.
constexpr double kLogprobBytes = 96;
// A sequence, its stream and what the server keeps beside them.
constexpr double kChoiceBytes = 4096;

}  // namespace

double answer_bytes_per_token(const AnswerNeeds& needs) {
  if (needs.top_logprobs < 0) return kTokenBytes;
  return kTokenBytes + kLogprobBytes * (1 + needs.top_logprobs + needs.further_logprobs);
}

double fixed_answer_bytes(const AnswerNeeds& needs, const SamplingFields& sampling) {
  // The engine and the server keep the lists of the sampling parameters.
  const double listed =
      2.0 * (sizeof(Token) * static_cast<double>(sampling.stop_token_ids.size()) +
             sizeof(std::pair<Token, float>) * static_cast<double>(sampling.logit_bias.size()) +
             sizeof(Token) * needs.further_logprobs);
  const double searched =
      sampling.stop == nullptr ? 0.0 : static_cast<double>(sampling.stop->bytes_per_text());
  return kChoiceBytes + listed + searched + needs.repeated_bytes +
         needs.scored_tokens * answer_bytes_per_token(needs);
}

}  // namespace foretoken
