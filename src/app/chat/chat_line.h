#pragma once
// What a user types in `foretoken chat`: a message, or a command that begins with a slash. The table
// of commands is here, and with it the help and what Tab completes. Not what commands do: see
// chat_session.h. Pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace foretoken {

enum class ChatVerb {
  kNothing,  // an empty line
  kSay,
  kHelp,
  kNew,
  kRetry,
  kSystem,
  kSet,
  kSpec,
  kColour,
  kSave,
  kLoad,
  kQuit,
};

struct ChatLine {
  ChatVerb verb = ChatVerb::kNothing;
  std::string text;  // the message, or what stands behind the command
};

// A message may stand between two lines of """ and have lines of its own; one that begins with two
// slashes begins with one. Refused: unknown commands, and arguments that are missing or too many.
Result<ChatLine> parse_chat_line(std::string_view line);

// Whether Enter ends this text: not within """.
bool is_complete_input(std::string_view text);

// The lines of /help.
std::string chat_help();

// What Tab completes, sorted, one a line. `names`: of the values that /set knows.
std::string completed_lines(const std::vector<std::string_view>& names);

}  // namespace foretoken
