#include "app/chat/conversation.h"

#include <optional>
#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>

#include "base/json_text.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

constexpr std::string_view kFormat = "foretoken-conversations";
constexpr std::size_t kMostOfTitle = 60;  // bytes

// The first message, cut at the end of a character.
std::string title_of(const Conversation& conversation) {
  if (conversation.messages.empty()) return "New";
  const std::string_view text = conversation.messages.front().text;
  std::string title;
  append_complete_utf8(text.substr(0, std::min(kMostOfTitle, text.find('\n'))), title);
  return title;
}

boost::json::string text_field(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? value->get_string() : boost::json::string();
}

std::optional<ChatMessage> message_of(const boost::json::value& given) {
  const auto* object = given.if_object();
  if (object == nullptr) return std::nullopt;
  const auto role = text_field(*object, "role");
  const auto* content = object->if_contains("content");
  if ((role != "user" && role != "assistant") || content == nullptr || !content->is_string())
    return std::nullopt;
  return ChatMessage{.is_answer = role == "assistant",
                     .text = std::string(content->get_string()),
                     .reasoning = std::string(text_field(*object, "reasoning"))};
}

}  // namespace

boost::json::array Conversation::worded() const {
  boost::json::array out;
  if (!system.empty()) out.push_back({{"role", "system"}, {"content", system}});
  for (const ChatMessage& message : messages) {
    boost::json::object each{{"role", message.is_answer ? "assistant" : "user"},
                             {"content", message.text}};
    if (!message.reasoning.empty()) each["reasoning_content"] = message.reasoning;
    out.push_back(std::move(each));
  }
  return out;
}

std::string Conversation::exported(std::int64_t changed) const {
  boost::json::array list;
  for (const ChatMessage& message : messages) {
    boost::json::object each{{"role", message.is_answer ? "assistant" : "user"},
                             {"content", message.text}};
    if (message.is_answer) each["reasoning"] = message.reasoning;
    list.push_back(std::move(each));
  }
  const boost::json::object conversation{{"title", title_of(*this)},
                                         {"changed", changed},
                                         {"system", system},
                                         {"messages", std::move(list)}};
  return boost::json::serialize(boost::json::object{
             {"format", kFormat}, {"version", 1}, {"conversations", {conversation}}}) +
         "\n";
}

Result<Conversation> Conversation::imported(std::string_view file) {
  JsonFault fault;
  const auto value = parse_json(file, fault);
  if (!value) return Refusal{"it is no JSON: " + fault.reason};
  const auto* object = value->if_object();
  const auto* all = object != nullptr ? object->if_contains("conversations") : nullptr;
  if (all == nullptr || !all->is_array() || all->get_array().empty())
    return Refusal{"it holds no conversations"};
  const auto* first = all->get_array().front().if_object();
  const auto* messages = first != nullptr ? first->if_contains("messages") : nullptr;
  if (messages == nullptr || !messages->is_array()) return Refusal{"it holds no messages"};
  Conversation conversation{.system = std::string(text_field(*first, "system")), .messages = {}};
  for (const auto& each : messages->get_array()) {
    auto message = message_of(each);
    if (!message) return Refusal{"it holds a message that is neither a user's nor an answer"};
    conversation.messages.push_back(*std::move(message));
  }
  return conversation;
}

}  // namespace foretoken
