#include "server/chat/prompted_tools.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "server/chat/message_parts.h"
#include "server/json/json_fields.h"
#include "text/chat_template.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

namespace json = boost::json;

// The words of Hermes' and Qwen2.5's templates: many models have met them in training.
constexpr std::string_view kSection = R"(# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>

For each function call, return a json object with function name and arguments within )"
                                      R"(<tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>)";

std::string_view role_of(const json::object& message) {
  const json::value* role = message.if_contains("role");
  return role != nullptr && role->is_string() ? std::string_view(role->get_string()) : "";
}

bool is_result(const json::object& message) {
  return role_of(message) == "tool" || role_of(message) == "function";
}

bool is_of_system(const json::object& message) {
  return role_of(message) == "system" || role_of(message) == "developer";
}

bool is_user(const json::object& message) { return role_of(message) == "user"; }

const json::array* calls_of(const json::object& message) {
  const json::value* calls = message.if_contains("tool_calls");
  return calls != nullptr && calls->is_array() && !calls->get_array().empty() ? &calls->get_array()
                                                                              : nullptr;
}

std::string text_of(const json::object& message) {
  std::optional<Refusal> no_fault;
  return text_of_content(Fields(message, "message", no_fault));
}

void append(std::string& text, std::string_view more, std::string_view between) {
  if (!text.empty() && !more.empty()) text += between;
  text += more;
}

// Arguments that were sent as a text stay as the model wrote them.
std::string call_text(const json::value& call) {
  const json::object& function = call.at("function").get_object();
  const json::value* given = function.if_contains("arguments");
  std::string arguments;
  if (given != nullptr && given->is_string())
    arguments = trimmed(given->get_string());
  else if (given != nullptr && given->is_object())
    arguments = json::serialize(*given);
  return "<tool_call>\n{\"name\": " + json::serialize(function.at("name")) +
         ", \"arguments\": " + (arguments.empty() ? "{}" : arguments) + "}\n</tool_call>";
}

json::object with_text(json::object message, const std::string& text) {
  message["content"] = text;
  return message;
}

json::object with_calls_as_text(const json::object& message, const json::array& calls) {
  std::string text = text_of(message);
  for (const json::value& call : calls) append(text, call_text(call), "\n");
  json::object out = with_text(message, text);
  out.erase("tool_calls");
  return out;
}

void add_result(json::array& out, bool follows_result, const json::object& message) {
  const std::string text = "<tool_response>\n" + text_of(message) + "\n</tool_response>";
  if (!follows_result)
    out.push_back(json::object{{"role", "user"}, {"content", text}});
  else
    out.back().at("content").get_string() += "\n" + text;
}

json::array with_calls_and_results(const json::array& messages) {
  json::array out;
  bool follows_result = false;
  for (const json::value& item : messages) {
    const json::object& message = item.get_object();
    if (is_result(message)) {
      add_result(out, std::exchange(follows_result, true), message);
      continue;
    }
    follows_result = false;
    if (const json::array* calls = calls_of(message))
      out.push_back(with_calls_as_text(message, *calls));
    else
      out.push_back(message);
  }
  return out;
}

void tell_system(json::array& messages, const std::string& section) {
  if (section.empty()) return;
  if (!is_of_system(messages.front().get_object())) {
    messages.insert(messages.begin(), json::object{{"role", "system"}, {"content", section}});
    return;
  }
  json::object& system = messages.front().get_object();
  std::string text = text_of(system);
  append(text, section, "\n\n");
  system["content"] = text;
}

// What the system says becomes the beginning of the first message of the user.
json::array told_by_user(const json::array& messages, const std::string& section) {
  std::string told;
  std::size_t from = 0;
  for (; from < messages.size() && is_of_system(messages[from].get_object()); ++from)
    append(told, text_of(messages[from].get_object()), "\n\n");
  append(told, section, "\n\n");
  json::array out;
  if (!told.empty()) out.push_back(json::object{{"role", "user"}, {"content", told}});
  for (; from < messages.size(); ++from) {
    const json::object& message = messages[from].get_object();
    if (!is_user(message) || out.empty() || !is_user(out.back().get_object())) {
      out.push_back(message);
      continue;
    }
    std::string text = text_of(out.back().get_object());
    append(text, text_of(message), "\n\n");
    out.back() = with_text(message, text);
  }
  return out;
}

}  // namespace

bool mentions_tools(const json::array& messages) {
  return std::ranges::any_of(messages, [](const json::value& message) {
    return is_result(message.get_object()) || calls_of(message.get_object()) != nullptr;
  });
}

Result<std::string> section_of_tools(const json::array& tools) {
  static const ChatTemplate form(kSection, TokenizerConfig{});
  const json::object request{{"messages", json::array{json::object{}}}, {"tools", tools}};
  return form.render(json::serialize(request));
}

json::array with_prompted_tools(const json::array& messages, const std::string& section,
                                ToolsPlace place) {
  json::array out = with_calls_and_results(messages);
  if (place == ToolsPlace::kUser) return told_by_user(out, section);
  tell_system(out, section);
  return out;
}

}  // namespace foretoken
