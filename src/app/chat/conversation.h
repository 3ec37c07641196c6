#pragma once
// Conversation: what was said so far and the system prompt; what of it a request holds; and the file
// of it, in the form that the page exports and imports. Plain data and its JSON. One thread at a
// time.

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/error.h"

namespace foretoken {

struct ChatMessage {
  bool is_answer = false;
  std::string text;
  std::string reasoning = {};  // of answers
};

struct Conversation {
  std::string system;  // empty: none
  std::vector<ChatMessage> messages;

  // For the field `messages` of a request.
  boost::json::array worded() const;

  // The file: one conversation. changed: milliseconds since 1970.
  std::string exported(std::int64_t changed) const;
  // The first conversation of such a file; the refusal says what is wrong with it.
  static Result<Conversation> imported(std::string_view file);
};

}  // namespace foretoken
