#include "server/chat/chat_prompt.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "server/json/json_lists.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 6> kRoles = {"system", "user",     "assistant",
                                                    "tool",   "function", "developer"};

// An object, or its text; no text at all is an object without members, as some clients send it.
void check_arguments(Fields& function) {
  const json::value* arguments = function.find("arguments");
  if (arguments == nullptr || arguments->is_object()) return;
  if (!arguments->is_string())
    return function.refuse_field(
        "arguments",
        fmt::format("Input should be a valid string (found {})", json_kind(*arguments)));
  const std::string_view text = arguments->get_string();
  if (trimmed(text).empty()) return;
  JsonFault fault;
  const auto value = parse_json(text, fault);
  if (!value || !value->is_object())
    function.refuse_field("arguments",
                          fmt::format("Input should be the text of a JSON object (found {})",
                                      value ? json_kind(*value) : "no JSON"));
}

// Calls that an assistant's message repeats: templates take them apart.
void check_calls(Fields& message) {
  each_object(message, "tool_calls", [](Fields& call) {
    call.string("id");
    call.require("function");
    const json::object* object = call.object("function");
    if (object == nullptr) return;
    Fields function(*object, call.path() + ".function", call.fault());
    function.require("name");
    function.string("name");
    check_arguments(function);
  });
}

void check_messages(Fields& fields) {
  fields.require("messages");
  const json::array* messages = fields.array("messages");
  if (messages == nullptr) return;
  if (messages->empty())
    fields.refuse_field("messages", "List should have at least 1 item after validation, not 0");
  std::size_t index = 0;
  for (const json::value& item : *messages) {
    const std::string path = fmt::format("{}.messages.{}", fields.path(), index++);
    if (!item.is_object())
      return fields.refuse(
          fmt::format("{}: Input should be a valid dictionary (found {})", path, json_kind(item)));
    Fields message(item.get_object(), path, fields.fault());
    message.require("role");
    const auto role = message.string("role");
    if (role && std::find(kRoles.begin(), kRoles.end(), *role) == kRoles.end())
      message.refuse_field("role", fmt::format("Input should be 'system', 'user', 'assistant', "
                                               "'tool', 'function' or 'developer' (found '{}')",
                                               *role));
    const bool needs_content = role && (*role == "user" || *role == "system");
    if (needs_content && message.has_null("content"))
      message.refuse_field("content", "Input should be a valid string or list (found null)");
    else if (needs_content)
      message.require("content");
    check_text_content(message);
    check_calls(message);
    message.string("reasoning_content");
  }
}

void check_function(const json::object& object, Fields& tool) {
  Fields function(object, tool.path() + ".function", tool.fault());
  function.require("name");
  if (const auto name = function.string("name"); name && name->empty())
    function.refuse_field("name", "String should have at least 1 character");
  function.string("description");
  function.plain_boolean("strict");
  function.object("parameters");
}

struct ToolChoice {
  bool shows_tools = true;  // to the template
  bool demands_call = false;
  std::string named = {};
};

ToolChoice read_tool_choice(Fields& fields) {
  const json::value* choice = fields.find("tool_choice");
  if (choice == nullptr || *choice == "auto") return {};
  if (*choice == "none") return {.shows_tools = false};
  if (*choice == "required") return {.demands_call = true};
  if (!choice->is_object()) {
    fields.refuse_field("tool_choice",
                        "Input should be 'auto', 'required', 'none' or a valid dictionary");
    return {};
  }
  Fields inner(choice->get_object(), fields.path() + ".tool_choice", fields.fault());
  inner.require("function");
  const json::object* object = inner.object("function");
  if (object == nullptr) return {};
  Fields function(*object, inner.path() + ".function", fields.fault());
  function.require("name");
  return {.demands_call = true, .named = function.string("name").value_or("")};
}

bool is_developer(const json::value& message) {
  const json::value* role = message.get_object().if_contains("role");
  return role != nullptr && *role == "developer";
}

// Whether the text of every developer's message is in the prompt.
bool shows_developers(const std::string& prompt, const json::array& messages) {
  return std::ranges::all_of(messages, [&](const json::value& message) {
    if (!is_developer(message)) return true;
    std::optional<Refusal> no_fault;
    const std::string text = text_of_content(Fields(message.get_object(), "message", no_fault));
    return prompt.find(trimmed(text)) != std::string::npos;
  });
}

// OpenAI's clients call "developer" what was "system" before. A template that refuses the role, or
// passes its messages over, is shown them by the old name.
Result<std::string> render_roles(const ChatTemplate& chat_template, json::object& request) {
  auto text = chat_template.render(json::serialize(request), MessageForm::kOpenAi);
  json::array& messages = request.at("messages").get_array();
  if (std::ranges::none_of(messages, is_developer) || (text && shows_developers(*text, messages)))
    return text;
  for (json::value& message : messages)
    if (is_developer(message)) message.get_object()["role"] = "system";
  auto renamed = chat_template.render(json::serialize(request), MessageForm::kOpenAi);
  return renamed ? std::move(renamed) : std::move(text);
}

bool ends_with_assistant(const json::object& body) {
  const json::value& last = body.at("messages").get_array().back();
  const json::value* role = last.get_object().if_contains("role");
  return role != nullptr && *role == "assistant";
}

}  // namespace

void check_tools(Fields& fields) {
  each_object(fields, "tools", [](Fields& tool) {
    if (const auto type = tool.string("type"); type && *type != "function")
      tool.refuse_field("type", fmt::format("Input should be 'function' (found '{}')", *type));
    tool.require("function");
    if (const json::object* function = tool.object("function")) check_function(*function, tool);
  });
}

void check_text_content(Fields& message) {
  const json::value* content = message.find("content");
  if (content == nullptr || content->is_string()) return;
  if (!content->is_array())
    return message.refuse_field(
        "content",
        fmt::format("Input should be a valid string or list (found {})", json_kind(*content)));
  std::size_t index = 0;
  for (const json::value& item : content->get_array()) {
    const std::string path = fmt::format("{}.content.{}", message.path(), index++);
    if (!item.is_object())
      return message.refuse(
          fmt::format("{}: Input should be a valid dictionary (found {})", path, json_kind(item)));
    Fields part(item.get_object(), path, message.fault());
    part.require("type");
    const std::string type = part.string("type").value_or("");
    if (message.ok() && type != "text")
      part.refuse(fmt::format(
          "{}: content of type '{}' is not supported: this model reads text only", path, type));
    part.require("text");
    part.string("text");
  }
}

std::string text_of_content(const Fields& message) {
  const json::value* content = message.find("content");
  if (content == nullptr) return {};
  if (content->is_string()) return std::string(content->get_string());
  std::string text;
  for (const json::value& part : content->get_array())
    text += part.get_object().at("text").get_string();
  return text;
}

Result<ChatPrompt> render_chat(const ServerContext& context, Fields& fields) {
  check_messages(fields);
  check_tools(fields);
  const ToolChoice choice = read_tool_choice(fields);
  const auto wants_continuation = fields.boolean("continue_final_message");
  const auto wants_opening = fields.boolean("add_generation_prompt");
  const json::object* kwargs = fields.object("chat_template_kwargs");
  const auto effort = fields.string("reasoning_effort");
  if (!fields.ok()) return *fields.fault();
  if (context.tokenizer == nullptr)
    return Refusal{
        "messages need a tokenizer, and this server runs with --skip-tokenizer-init: "
        "send input_ids to /generate"};
  if (context.chat_template == nullptr)
    return Refusal{"this model has no chat template: start the server with --chat-template"};

  const json::object& body = fields.all();
  const bool shows_tools =
      choice.shows_tools && fields.has("tools") && !body.at("tools").get_array().empty();
  // A call that is demanded is bound to the tools, whether the model knows of them or not.
  if (shows_tools && !choice.demands_call && !context.chat_template->reads_tools())
    return Refusal{
        "tools are not supported: this model's chat template shows them nowhere, so the model "
        "would not know of them (tool_choice required, or one by name, binds the answer to them)"};
  const bool continues = wants_continuation.value_or(false) && ends_with_assistant(body);
  if (continues && wants_opening.value_or(false))
    return Refusal{"Cannot set both `continue_final_message` and `add_generation_prompt` to True."};
  json::object request;
  request["messages"] = body.at("messages");
  if (shows_tools) request["tools"] = body.at("tools");
  if (fields.has("documents")) request["documents"] = body.at("documents");
  request["add_generation_prompt"] = wants_opening.value_or(!continues);
  request["continue_final_message"] = continues;
  json::object variables;
  if (effort) variables["reasoning_effort"] = *effort;
  if (kwargs != nullptr)
    for (const auto& [key, value] : *kwargs) variables[key] = value;
  request["chat_template_kwargs"] = std::move(variables);
  auto text = render_roles(*context.chat_template, request);
  if (!text) return text.refusal();
  ChatPrompt prompt;
  prompt.text = *std::move(text);
  prompt.demands_call = choice.demands_call;
  prompt.named_tool = choice.named;
  if (continues) {
    std::optional<Refusal> no_fault;
    prompt.continued = text_of_content(
        Fields(body.at("messages").get_array().back().get_object(), "message", no_fault));
  }
  if (shows_tools) prompt.tools = std::make_shared<const ToolSchemas>(body.at("tools").get_array());
  return prompt;
}

}  // namespace foretoken
