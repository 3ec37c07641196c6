#pragma once
// ReasoningStyle: how a family of models marks its reasoning. Data; the parsers are
// think_parser.h and channel_parser.h.

#include <functional>
#include <string_view>
#include <vector>

namespace foretoken {

struct ReasoningStyle {
  std::string_view name;        // of --reasoning-parser
  std::string_view token = {};  // as in CallStyle
  std::string_view open, close;
  bool starts_inside = false;  // where the prompt does not tell: templates open it unseen
  // Marks that end the reasoning without its own end, and belong to what follows.
  std::vector<std::string_view> interrupts = {};
  // There may be more of it later in the answer; behind an interruption it goes on from the mark
  // `resumes`.
  bool repeats = false;
  std::string_view resumes = {};
  // It is left in the text, behind the mark of its beginning.
  bool stays_text = false;
  // Marks around the text of an answer, which are no text.
  std::vector<std::string_view> frame = {};
  bool has_channels = false;
};

// nullptr: no family of that name.
const ReasoningStyle* find_reasoning_style(std::string_view name);

// The style of the same name whose marks the vocabulary has.
const ReasoningStyle* spelled_by(const ReasoningStyle* style,
                                 const std::function<bool(std::string_view)>& has_token);
std::vector<std::string_view> reasoning_style_names();

// The style whose marks a chat template writes; nullptr: it has none.
const ReasoningStyle* reasoning_style_of_template(std::string_view source);

// The same family where nothing but its own mark ends the reasoning.
const ReasoningStyle& uninterrupted(const ReasoningStyle& style);

// Whether the answer to this prompt begins inside of the reasoning. The end of the prompt tells
// where the template opened or closed it; else the family does. continued: the text of the message
// that the answer continues, empty for none. wants_thinking: false where the request forbids it.
bool begins_inside(const ReasoningStyle& style, std::string_view prompt, std::string_view continued,
                   bool wants_thinking);

// Whether the answer to this prompt may begin with reasoning that it opens itself.
bool may_open(const ReasoningStyle& style, std::string_view prompt, std::string_view continued,
              bool wants_thinking);

}  // namespace foretoken
