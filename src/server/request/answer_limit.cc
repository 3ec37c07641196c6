#include "server/request/answer_limit.h"

namespace foretoken {
namespace {

// A token in memory with its text, and as a number in the answer.
constexpr double kTokenBytes = 96;
// The id of a token as a number in the answer.
constexpr double kShownIdBytes = 8;
// A logprob in memory, and with text and bytes of its token as JSON.
constexpr double kLogprobBytes = 96;
// A draft of a step that is told, in memory and as JSON; and what is told of a step beside them.
constexpr double kTracedDraftBytes = 160, kTracedStepBytes = 256;
// A sequence, its stream and what the server keeps beside them.
constexpr double kChoiceBytes = 4096;

double scored_tokens(const AskedPrompt& asked) {  // prompt tokens with logprobs
  if (asked.logprob_start < 0) return 0;
  return static_cast<double>(asked.tokens.size()) - static_cast<double>(asked.logprob_start);
}

}  // namespace

double answer_bytes_per_token(const AskedPrompt& asked) {
  double bytes = kTokenBytes + asked.hidden_bytes;
  if (asked.draft_wish && asked.draft_wish->is_traced)  // each token may take a step
    bytes += kTracedStepBytes + kTracedDraftBytes * (asked.draft_wish->max_nodes - 1);
  if (asked.top_logprobs < 0) return bytes;
  return bytes + kLogprobBytes *
                     (1 + asked.top_logprobs + static_cast<double>(asked.logprob_tokens.size()));
}

double fixed_answer_bytes(const AskedPrompt& asked) {
  // The engine and the server keep the lists of the sampling parameters.
  const double listed =
      2.0 * (sizeof(Token) * static_cast<double>(asked.stop_token_ids.size()) +
             sizeof(std::pair<Token, float>) * static_cast<double>(asked.logit_bias.size()) +
             sizeof(Token) * static_cast<double>(asked.logprob_tokens.size()));
  const double searched =
      asked.stop == nullptr ? 0.0 : static_cast<double>(asked.stop->bytes_per_text());
  const double shown =
      asked.shows_prompt_ids ? kShownIdBytes * static_cast<double>(asked.tokens.size()) : 0.0;
  return kChoiceBytes + listed + searched + shown + static_cast<double>(asked.echoed_bytes) +
         asked.hidden_bytes * static_cast<double>(asked.tokens.size()) +
         scored_tokens(asked) * answer_bytes_per_token(asked);
}

}  // namespace foretoken
