#pragma once
// AnswerParser: takes what a model writes, in pieces of any size, and appends the parts that it is
// made of. How the text was cut into pieces changes nothing about the parts. Nothing is an error:
// what is not of the model's format is text. Work is linear in the text; what is held back until it
// is clear is bounded. Not thread-safe: one per answer.

#include <string_view>

#include "text/dialogue/answer_parts.h"

namespace foretoken {

enum class Ending {
  kComplete,  // the model ended the answer
  kCut,       // a limit or a stop string did
};

class AnswerParser {
 public:
  virtual ~AnswerParser() = default;
  virtual void push(std::string_view text, AnswerParts& out) = 0;
  // What was held back. Call once, at the end.
  virtual void finish(Ending ending, AnswerParts& out) = 0;
  // Whatever comes now belongs to no part.
  virtual bool is_over() const { return false; }
  // What comes now is read as a call of a tool, so that other marks in it are none.
  virtual bool is_in_call() const { return false; }
};

// All of it is text.
class PlainParser final : public AnswerParser {
 public:
  void push(std::string_view text, AnswerParts& out) override { out.text(text); }
  void finish(Ending, AnswerParts&) override {}
};

}  // namespace foretoken
