#pragma once
// From the styles of a model's family to the parser of one answer. Pure function.

#include <memory>
#include <string_view>
#include <vector>

#include "text/dialogue/answer_parser.h"
#include "text/dialogue/call_parser.h"
#include "text/dialogue/call_style.h"
#include "text/dialogue/reasoning_style.h"

namespace foretoken {

struct Dialogue {
  const ReasoningStyle* reasoning = nullptr;  // null: it is not told apart
  bool begins_inside = false;                 // of the reasoning
  const CallStyle* calls = nullptr;           // null: calls are text
  const CallStyle* family = nullptr;          // whose frame is dropped where calls are null, too
  CallOptions call_options;                   // with tools where calls are not null
};

std::unique_ptr<AnswerParser> make_answer_parser(const Dialogue& dialogue);

// The marks that the parser looks for: where one is a special token, special tokens must stay in
// the text.
std::vector<std::string_view> marks_of(const Dialogue& dialogue);

}  // namespace foretoken
