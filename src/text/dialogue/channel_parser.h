#pragma once
// ChannelParser: takes apart what models of the gpt-oss family write: messages on channels.
//   <|channel|>analysis<|message|>...<|end|>                                     reasoning
//   <|start|>assistant<|channel|>commentary to=functions.f
//   <|constrain|>json<|message|>{...}<|call|>
//   <|start|>assistant<|channel|>final<|message|>...<|return|>                   text
// Calls begin and fail as in call_parser.h. Not thread-safe: one per answer.

#include <cstddef>
#include <string>
#include <string_view>

#include "text/dialogue/answer_parser.h"
#include "text/dialogue/call_parser.h"
#include "text/dialogue/json_scanner.h"

namespace foretoken {

struct ChannelOptions {
  bool separates_reasoning = false;  // else it is text
  CallOptions calls;                 // without tools: calls are text
};

class ChannelParser final : public AnswerParser {
 public:
  explicit ChannelParser(ChannelOptions options) : options_(std::move(options)) {}

  void push(std::string_view text, AnswerParts& out) override;
  void finish(Ending ending, AnswerParts& out) override;
  bool is_over() const override { return is_over_; }

 private:
  enum class At { kBetween, kHeader, kText, kReasoning, kCall };

  bool step(AnswerParts& out);
  bool read_header(AnswerParts& out);
  bool read_message(AnswerParts& out);
  void take(std::size_t bytes);
  void say(std::string_view text, AnswerParts& out);
  void feed_call(std::string_view text, AnswerParts& out);
  void end_message(AnswerParts& out);
  void give_up(AnswerParts& out);
  std::string new_id() const;

  ChannelOptions options_;
  At at_ = At::kBetween;
  std::string held_;      // not read yet
  std::size_t seen_ = 0;  // bytes before held_
  std::size_t message_from_ = 0;
  std::string name_, raw_, arguments_;  // of a call
  std::size_t call_bytes_ = 0;
  JsonScanner scanner_;
  bool begun_ = false, whole_ = false;
  int calls_ = 0;
  bool is_over_ = false, warned_ = false;
};

}  // namespace foretoken
