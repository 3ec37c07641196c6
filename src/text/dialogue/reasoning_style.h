#pragma once
// ReasoningStyle: how a family of models marks its reasoning. Data; the parsers are
// think_parser.h and channel_parser.h.

#include <string_view>
#include <vector>

namespace foretoken {

struct ReasoningStyle {
  std::string_view name;  // of --reasoning-parser
  std::string_view open, close;
  bool starts_inside = false;  // where the prompt does not tell: templates open it unseen
  // Marks that end the reasoning without its own end, and belong to what follows.
  std::vector<std::string_view> interrupts = {};
  bool has_channels = false;
};

// nullptr: no family of that name.
const ReasoningStyle* find_reasoning_style(std::string_view name);
std::vector<std::string_view> reasoning_style_names();

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
