#include "server/request/choice.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace foretoken {
namespace {

constexpr std::size_t kLongestMark = 64;  // bytes, more than any mark of a dialogue

ChoiceEnd abort_end(std::string message, int status) {
  ChoiceEnd end{.kind = ChoiceEnd::Kind::kAbort, .message = std::move(message), .status = status};
  return end;
}

}  // namespace

Choice::Choice(const Tokenizer* tokenizer, const TextStream::Options& options,
               const Dialogue* dialogue)
    : stops_(options.stops),
      keep_stop_(options.trim == StopTrim::kKeep),
      keep_special_(options.special == SpecialText::kKeep),
      tokenizer_(tokenizer) {
  if (tokenizer != nullptr) stream_.emplace(*tokenizer, options);
  if (tokenizer != nullptr && dialogue != nullptr) parser_ = make_answer_parser(*dialogue);
}

void Choice::absorb(TokenDelta delta) {
  if (end_) return;
  prompt_scores_.insert(prompt_scores_.end(), std::make_move_iterator(delta.prompt_scores.begin()),
                        std::make_move_iterator(delta.prompt_scores.end()));
  hidden_.add(std::move(delta.hidden));
  auto tokens = std::move(delta.tokens);
  auto traces = std::move(delta.traces);
  const auto finished = std::move(delta.finish);
  delta.tokens.clear();
  delta.prompt_scores.clear();
  delta.hidden.clear();
  delta.traces.clear();
  counters_ = std::move(delta);
  const bool ends_in_stop =
      finished && finished->reason == FinishReason::kStop && finished->stop_token != kNoToken;
  const std::size_t before = tokens_.size();
  for (std::size_t i = 0; i < tokens.size() && !end_; ++i)
    push(std::move(tokens[i]), ends_in_stop && i + 1 == tokens.size());
  keep_traces(std::move(traces), tokens_.size() - before);
  if (finished && !end_) finish(*finished);
}

// Of steps that brought `tokens` tokens which the choice shows; what they brought beyond is cut off.
void Choice::keep_traces(std::vector<DraftTrace> traces, std::size_t tokens) {
  for (DraftTrace& trace : traces) {
    if (tokens == 0) return;
    const auto shown = std::min(tokens, static_cast<std::size_t>(trace.tokens));
    tokens -= shown;
    trace.tokens = static_cast<int>(shown);
    if (trace.accepted.size() > shown) trace.accepted.resize(shown);
    traces_.push_back(std::move(trace));
  }
}

void Choice::push(SampledToken token, bool is_stop) {
  text_begin_.push_back(decoded_bytes_);
  tokens_.push_back(std::move(token));
  if (!stream_) return;
  if (is_stop && !keep_stop_) return;  // the stop token counts, but is not shown
  const Token id = tokens_.back().token;
  if (keep_special_ || !tokenizer_->is_special(id)) decoded_bytes_ += tokenizer_->piece(id).size();
  const StopScan scan = stream_->push(id);
  text_ += scan.text;
  if (parser_ != nullptr) {
    parser_->push(scan.text, parts_);
    count_reasoning(text_.size() - std::min(text_.size(), kLongestMark));
    if (parser_->is_over() && !scan.stop) {
      end_ = ChoiceEnd{.kind = ChoiceEnd::Kind::kStop};
      return end_parts(Ending::kComplete);
    }
  }
  if (scan.stop) stop_at(scan);
}

// A mark may be held back, and what it says of the tokens before it.
void Choice::count_reasoning(std::size_t certain_bytes) {
  for (; told_tokens_ < tokens_.size() && text_begin_[told_tokens_] < certain_bytes; ++told_tokens_)
    if (parts_.is_reasoning(text_begin_[told_tokens_])) ++reasoning_tokens_;
}

void Choice::end_parts(Ending ending) {
  if (parser_ == nullptr) return;
  parser_->finish(ending, parts_);
  count_reasoning(std::numeric_limits<std::size_t>::max());
}

void Choice::stop_at(const StopScan& scan) {
  end_parts(Ending::kCut);
  end_ = ChoiceEnd{.kind = ChoiceEnd::Kind::kStop,
                   .matched_token = {},
                   .matched_text = stops_->text(*scan.stop),
                   .message = {}};
}

void Choice::finish(const Finish& finish) {
  if (stream_) {
    const StopScan rest = stream_->finish();
    text_ += rest.text;
    if (parser_ != nullptr) parser_->push(rest.text, parts_);
    if (rest.stop) return stop_at(rest);
    end_parts(finish.reason == FinishReason::kStop ? Ending::kComplete : Ending::kCut);
  }
  switch (finish.reason) {
    case FinishReason::kStop:
      end_ = ChoiceEnd{.kind = ChoiceEnd::Kind::kStop};
      if (finish.stop_token != kNoToken) end_->matched_token = finish.stop_token;
      return;
    case FinishReason::kLength:
      end_ = ChoiceEnd{};
      return;
    case FinishReason::kCancelled:
      end_ = abort_end(finish.message.empty() ? "Aborted" : finish.message, 0);
      return;
    case FinishReason::kDeadline:
      end_ = abort_end(finish.message.empty() ? "the request's time is over" : finish.message, 503);
      return;
    case FinishReason::kOutOfMemory:
      end_ = abort_end(
          finish.message.empty() ? "the request does not fit into the KV cache" : finish.message,
          500);
      return;
    case FinishReason::kShutdown:
      end_ =
          abort_end(finish.message.empty() ? "the server is shutting down" : finish.message, 503);
      return;
    case FinishReason::kVoid:
      end_ = abort_end(finish.message, 500);
      return;
    case FinishReason::kDisplaced:
      end_ = abort_end(finish.message, 503);
      return;
    case FinishReason::kStuck:
      end_ = abort_end("the output cannot be continued as the request wants it: " + finish.message,
                       400);
      return;
  }
}

}  // namespace foretoken
