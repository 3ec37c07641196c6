#include "server/chat/chat_body.h"

#include <utility>

#include <boost/json/value.hpp>

namespace foretoken {

namespace json = boost::json;

void ChatBody::add(std::string_view role, json::value content) {
  messages_.push_back(json::object{{"role", role}, {"content", std::move(content)}});
}

void ChatBody::add_result(std::string_view call_id, json::value content) {
  messages_.push_back(
      json::object{{"role", "tool"}, {"tool_call_id", call_id}, {"content", std::move(content)}});
}

json::object& ChatBody::assistant() {
  if (messages_.empty() || messages_.back().at("role") != "assistant")
    messages_.push_back(json::object{{"role", "assistant"}, {"content", ""}});
  return messages_.back().get_object();
}

void ChatBody::add_thought(std::string_view text) {
  json::value& thought = assistant()["reasoning_content"];
  if (!thought.is_string()) thought = json::string();
  thought.get_string().append(text);
}

void ChatBody::add_answer(std::string_view text) {
  assistant()["content"].get_string().append(text);
}

void ChatBody::add_call(std::string_view id, std::string_view name, std::string_view arguments) {
  json::value& calls = assistant()["tool_calls"];
  if (!calls.is_array()) calls = json::array();
  calls.get_array().push_back(
      json::object{{"id", id},
                   {"type", "function"},
                   {"function", json::object{{"name", name}, {"arguments", arguments}}}});
}

void ChatBody::copy(const Fields& from, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    if (const json::value* value = from.find(name)) object_[name] = *value;
}

json::object ChatBody::take() {
  object_["messages"] = std::move(messages_);
  messages_ = {};
  return std::exchange(object_, {});
}

}  // namespace foretoken
