#pragma once
// Choice: what one engine sequence has produced so far, as an answer shows it: text with stop
// strings and half characters dealt with, the tokens that count, and how it ended. Not I/O: token
// deltas go in, fields are read. Not thread-safe: lives on its exchange's strand.
// Invariants: text only grows; whatever comes after the end (tokens of a round that overshot a stop
// string) appears nowhere: not in text, tokens, logprobs or counts.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "server/request/hidden_states.h"
#include "text/dialogue/dialogue.h"
#include "text/text_stream.h"

namespace foretoken {

struct ChoiceEnd {
  enum class Kind { kStop, kLength, kAbort };
  Kind kind = Kind::kLength;
  std::optional<Token> matched_token = {};       // kStop by a token
  std::optional<std::string> matched_text = {};  // kStop by a string
  std::string message = {};                      // kAbort
  int status = 0;  // kAbort: HTTP status, 0 when the client asked for it
};

class Choice {
 public:
  // tokenizer null: ids only, no text and no stop strings. dialogue null: no parts.
  Choice(const Tokenizer* tokenizer, const TextStream::Options& options, const Dialogue* dialogue);

  // Takes in what the engine pushed. Nothing after the end has an effect.
  void absorb(TokenDelta delta);

  bool is_finished() const { return end_.has_value(); }
  const std::optional<ChoiceEnd>& end() const { return end_; }

  const std::string& text() const { return text_; }
  // What the text is made of, where the route asked for it.
  const AnswerParts& parts() const { return parts_; }
  // How many of the tokens are reasoning; those whose text is still held back may not be told yet.
  std::int64_t reasoning_tokens() const { return reasoning_tokens_; }
  const std::vector<SampledToken>& tokens() const { return tokens_; }
  // Bytes of shown text before each token (of text that may still be held back).
  const std::vector<std::size_t>& text_begin() const { return text_begin_; }
  const std::vector<SampledToken>& prompt_scores() const { return prompt_scores_; }

  // What to keep of hidden states; before the first delta.
  void keep_hidden(HiddenWish wish) { hidden_ = HiddenStates(wish); }
  const HiddenStates& hidden() const { return hidden_; }

  // Of the steps that brought the tokens, where they are traced.
  const std::vector<DraftTrace>& traces() const { return traces_; }

  // Counters of the engine, as of the last delta.
  const TokenDelta& counters() const { return counters_; }

 private:
  void push(SampledToken token, bool is_stop);
  void finish(const Finish& finish);
  void stop_at(const StopScan& scan);
  void end_parts(Ending ending);
  void count_reasoning(std::size_t certain_bytes);
  void keep_traces(std::vector<DraftTrace> traces, std::size_t tokens);

  std::shared_ptr<const StopStrings> stops_;
  bool keep_stop_;
  bool keep_special_;
  std::optional<TextStream> stream_;
  std::string text_;
  std::unique_ptr<AnswerParser> parser_;  // null: no parts
  AnswerParts parts_;
  std::int64_t reasoning_tokens_ = 0;
  std::size_t told_tokens_ = 0;  // those of which it is known whether they are reasoning
  std::size_t decoded_bytes_ = 0;
  const Tokenizer* tokenizer_;
  std::vector<SampledToken> tokens_;
  std::vector<std::size_t> text_begin_;
  std::vector<SampledToken> prompt_scores_;
  HiddenStates hidden_;
  std::vector<DraftTrace> traces_;
  TokenDelta counters_;
  std::optional<ChoiceEnd> end_;
};

}  // namespace foretoken
