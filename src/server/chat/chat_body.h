#pragma once
// ChatBody: the body of a chat as /v1/chat/completions reads it, put together by routes that word
// the same otherwise. Messages that belong together (a thought, a text and calls of one turn)
// become one. Not a check of what is in it: the chat's reader does that.

#include <span>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/json/json_fields.h"

namespace foretoken {

class ChatBody {
 public:
  void add(std::string_view role, boost::json::value content);
  void add_result(std::string_view call_id, boost::json::value content);
  // Of the assistant: what follows each other is one message.
  void add_thought(std::string_view text);
  void add_answer(std::string_view text);
  void add_call(std::string_view id, std::string_view name, std::string_view arguments);

  // Copies fields that mean the same.
  void copy(const Fields& from, std::span<const std::string_view> names);
  void set(std::string_view name, boost::json::value value) { object_[name] = std::move(value); }

  boost::json::array& messages() { return messages_; }
  // The whole; the body is empty afterwards.
  boost::json::object take();

 private:
  boost::json::object& assistant();

  boost::json::object object_;
  boost::json::array messages_;
};

}  // namespace foretoken
