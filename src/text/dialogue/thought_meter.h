#pragma once
// ThoughtMeter: where a text that comes token by token stands with respect to its reasoning, and
// how many tokens that has: what think_parser.h takes apart, found as early as the tokens tell. It
// keeps no text but what may be half a mark. For families with marks of their own, not for
// channels. Copies are independent. Not thread-safe: one per text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/dialogue/reasoning_style.h"

namespace foretoken {

class ThoughtMeter {
 public:
  // style: outlives the meter. begins_inside: the prompt has opened the reasoning, or may have.
  ThoughtMeter(const ReasoningStyle& style, bool begins_inside);

  // The text of the next token. Returns what is known to stand behind the reasoning, marks that
  // interrupted it included.
  std::string push(std::string_view text);

  bool is_inside() const { return !is_over_ && (is_opened_ || begins_inside_); }
  bool is_over() const { return is_over_; }  // or there is none

  // Bytes at the end of the text that may be the beginning of a mark.
  std::size_t half_mark() const { return held_.size(); }

  // Inside: tokens behind the mark of the beginning, where the text has one.
  std::int64_t tokens() const { return tokens_; }

 private:
  std::string end_at(std::size_t bytes);

  const ReasoningStyle* style_;
  std::vector<std::string_view> ends_;  // the mark of the end, then the interrupts
  bool begins_inside_;
  bool is_opened_ = false;  // it is known whether the text has a mark of the beginning
  bool is_over_ = false;
  std::int64_t tokens_ = 0;
  std::string held_;  // may be half a mark
};

}  // namespace foretoken
