#include "server/chat/message_parts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "server/json/json_lists.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::string_view kReference = "tool_reference";

std::string_view type_of(const json::value& part) { return part.at("type").get_string(); }

bool is_thought(std::string_view type) { return type == "thinking" || type == "reasoning"; }

bool is_result(std::string_view role) { return role == "tool" || role == "function"; }

// Of a part that was checked: a text, or Mistral's list of texts.
std::string thought_of(const json::object& part) {
  const json::value* thought = part.if_contains("thinking");
  if (thought == nullptr || thought->is_null()) thought = &part.at("text");
  if (thought->is_string()) return std::string(thought->get_string());
  std::string text;
  for (const json::value& piece : thought->get_array()) text += piece.at("text").as_string();
  return text;
}

void check_thought(Fields& part, std::string_view role) {
  if (role != "assistant")
    return part.refuse(fmt::format(
        "{}: thinking content parts are only valid in assistant messages", part.path()));
  if (part.has("thinking") == part.has("text"))
    return part.refuse(
        fmt::format("{}: thinking parts require exactly one of 'thinking' or 'text'", part.path()));
  const json::value* thinking = part.find("thinking");
  if (thinking != nullptr && thinking->is_array())
    return each_object(part, "thinking", [](Fields& piece) { required_text(piece, "text"); });
  part.string("thinking");
  part.string("text");
}

void check_part(Fields& part, std::string_view role) {
  const std::string type = required_text(part, "type");
  if (!part.ok()) return;
  if (is_thought(type)) return check_thought(part, role);
  if (type == kReference && is_result(role)) {
    required_text(part, "name");
    return;
  }
  if (type != "text")
    return part.refuse(
        fmt::format("{}: content of type '{}' is not supported: this model reads text only",
                    part.path(), type));
  required_text(part, "text");
}

const json::array* parts_of(const json::value& message) {
  const json::value* content = message.get_object().if_contains("content");
  return content != nullptr && content->is_array() ? &content->get_array() : nullptr;
}

// The message with thoughts apart, and with other parts that its template does not know as texts.
json::object shown_message(const json::object& message, const json::array& parts,
                           bool knows_references) {
  json::object out = message;
  json::array texts;
  std::string thoughts;
  for (const json::value& part : parts) {
    if (is_thought(type_of(part)))
      thoughts += thought_of(part.get_object());
    else if (type_of(part) == kReference && !knows_references)
      texts.push_back(json::object{{"type", "text"}, {"text", part.at("name")}});
    else
      texts.push_back(part);
  }
  if (!thoughts.empty()) {
    const json::value* given = out.if_contains("reasoning_content");
    if (given != nullptr && given->is_string()) thoughts.insert(0, given->get_string());
    out["reasoning_content"] = thoughts;
  }
  if (texts.empty())
    out["content"] = "";
  else
    out["content"] = std::move(texts);
  return out;
}

}  // namespace

void check_content(Fields& message, std::string_view role) {
  const json::value* content = message.find("content");
  if (content == nullptr || content->is_string()) return;
  if (!content->is_array())
    return message.refuse_field(
        "content",
        fmt::format("Input should be a valid string or list (found {})", json_kind(*content)));
  each_object(message, "content", [&](Fields& part) { check_part(part, role); });
}

std::string text_of_content(const Fields& message) {
  const json::value* content = message.find("content");
  if (content == nullptr) return {};
  if (content->is_string()) return std::string(content->get_string());
  std::string text;
  for (const json::value& part : content->get_array()) {
    if (is_thought(type_of(part))) continue;
    text += part.at(type_of(part) == kReference ? "name" : "text").get_string();
  }
  return text;
}

json::array shown_messages(const json::array& messages, std::string_view template_source) {
  const bool knows_references = template_source.find(kReference) != std::string_view::npos;
  json::array out = messages;
  for (json::value& message : out) {
    const json::array* parts = parts_of(message);
    if (parts == nullptr || std::ranges::all_of(*parts, [](const json::value& part) {
          return type_of(part) == "text";
        }))
      continue;
    json::object shown = shown_message(message.get_object(), *parts, knows_references);
    message = std::move(shown);
  }
  return out;
}

}  // namespace foretoken
