#pragma once
// How one row is sampled: parameters, the penalties' history, and the sampler as a pure function of
// (logits, parameters, history, seed, position). Not a distribution library: exactly the filters of
// the interface, applied in the order: logit bias, min_new_tokens, penalties, temperature, top-k,
// top-p, min-p, Gumbel-max. Deterministic to the bit on every CPU and for any batch: fixed 16-lane
// sums, own exp and log. Thread-safe: functions without state.

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"

namespace foretoken {

struct SamplingParams {
  float temperature = 1.0F;  // 0: argmax, ties to the lowest id
  int top_k = -1;            // -1: all
  float top_p = 1.0F;
  float min_p = 0.0F;
  float frequency_penalty = 0.0F;
  float presence_penalty = 0.0F;
  float repetition_penalty = 1.0F;
  int min_new_tokens = 0;
  std::uint64_t seed = 0;
  std::vector<std::pair<Token, float>> logit_bias;
  std::vector<Token>
      stop_tokens;       // end the sequence; barred until min_new_tokens are out (includes EOS)
  int top_logprobs = 0;  // how many alternatives to report; < 0: no logprobs at all
  std::vector<Token> logprob_tokens;  // further ids whose logprobs are reported

  bool wants_logprobs() const { return top_logprobs >= 0; }
  bool has_penalties() const {
    return frequency_penalty != 0.0F || presence_penalty != 0.0F || repetition_penalty != 1.0F;
  }
};

// What penalties know about the text before a row. Owned by the sequence, updated when tokens are
// committed; a node's own ancestors are added on the fly. Frequency and presence count generated
// tokens; the repetition penalty sees prompt and output.
class TokenCounts {
 public:
  void add_prompt(Token token);
  void add_output(Token token);
  void clear();

  struct Entry {
    Token token;
    std::int32_t output_count;
    bool in_prompt;
  };
  std::span<const Entry> entries() const { return entries_; }
  const Entry* find(Token token) const;  // null: not seen yet

 private:
  Entry& find_or_add(Token token);
  std::vector<Entry> entries_;          // in order of first occurrence
  std::vector<std::int32_t> index_of_;  // token -> entry + 1; grown on demand
};

struct TopLogprob {
  Token token;
  float logprob;
};

// What the sampler says about one row. logprobs are of the distribution after bias, penalties and
// temperature (of the plain logits at temperature 0), before top-k/top-p/min-p, as SGLang reports
// them.
struct SampledToken {
  Token token = kNoToken;
  float logprob = std::numeric_limits<float>::quiet_NaN();
  std::vector<TopLogprob> top;        // best first, ties to the lower id
  std::vector<float> token_logprobs;  // of SamplingParams::logprob_tokens
  // The model gave no number to any token that may come (NaN, say): the token means nothing.
  bool is_void = false;
};

// One row's context besides its logits.
struct RowContext {
  const SamplingParams* params = nullptr;
  const TokenCounts* counts = nullptr;    // may be null when there are no penalties
  std::span<const Token> ancestors = {};  // tree tokens after the committed text up to this row,
                                          // oldest first, without the root
  std::int64_t position = 0;              // absolute position of the token to be sampled
  int generated = 0;                      // tokens generated before it
  std::span<const std::uint32_t> allowed = {};  // bit per token (grammar), empty: all
};

// Draws the next token. logits [vocab] are modified in place (bias, penalties, temperature).
SampledToken sample_row(std::span<float> logits, const RowContext& row);

// The second half of it, of logits that it has adjusted already, under another mask.
SampledToken sample_adjusted(std::span<float> logits, const RowContext& row);

// Logprob report for a known token (input logprobs): plain log-softmax of the logits.
SampledToken score_token(std::span<const float> logits, Token token, const SamplingParams& params);

}  // namespace foretoken
