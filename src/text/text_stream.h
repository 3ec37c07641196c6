#pragma once
// TextStream: the visible output of one sequence: tokens in, text out, stop strings honoured.
// Joins Detokenizer and StopMatcher, so that a stop string is reported at the very token that
// completes it and neither it nor half a character ever leaks. Not thread-safe: one per sequence.

#include <memory>
#include <optional>

#include "base/types.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace foretoken {

class TextStream {
 public:
  struct Options {
    std::shared_ptr<const StopStrings> stops;  // null: none
    StopTrim trim = StopTrim::kTrim;
    SpecialText special = SpecialText::kSkip;
  };

  TextStream(const Tokenizer& tokenizer, const Options& options)
      : detokenizer_(tokenizer, options.special), matcher_(options.stops, options.trim) {}

  // Text that became certain with this token, and the stop string that this token completed. After
  // a stop the stream is over: push no more, finish() returns nothing.
  StopScan push(Token token);

  // The rest of the text, when the sequence ended for another reason. May still complete a stop.
  StopScan finish();

 private:
  Detokenizer detokenizer_;
  StopMatcher matcher_;
  bool is_over_ = false;
};

}  // namespace foretoken
