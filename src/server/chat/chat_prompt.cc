#include "server/chat/chat_prompt.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "server/chat/message_parts.h"
#include "server/chat/prompted_tools.h"
#include "server/chat/reasoning_wish.h"
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

void require_content(Fields& message) {
  if (message.has_null("content"))
    message.refuse_field("content", "Input should be a valid string or list (found null)");
  message.require("content");
}

void check_messages(Fields& fields) {
  if (!fields.has("input_ids")) fields.require("messages");
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
    if (role && (*role == "user" || *role == "system")) require_content(message);
    check_content(message, role.value_or(""));
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

bool is_of_system(const json::value& message) {
  const json::value* role = message.get_object().if_contains("role");
  return role != nullptr && *role == "system";
}

// Some templates refuse a system's message behind others: there it is the user's.
Result<std::string> render_order(const ChatTemplate& chat_template, json::object& request) {
  auto text = render_roles(chat_template, request);
  json::array& messages = request.at("messages").get_array();
  const auto late = std::ranges::find_if_not(messages, is_of_system);
  if (text || std::none_of(late, messages.end(), is_of_system)) return text;
  std::for_each(late, messages.end(), [](json::value& message) {
    if (is_of_system(message)) message.get_object()["role"] = "user";
  });
  auto renamed = render_roles(chat_template, request);
  return renamed ? std::move(renamed) : std::move(text);
}

// The template shows no tools: they are written into messages that it shows.
Result<std::string> render_prompted(const ChatTemplate& chat_template, json::object& request,
                                    const json::array* tools) {
  const auto section = tools != nullptr ? section_of_tools(*tools) : std::string();
  if (!section) return section.refusal();
  const json::array messages = request.at("messages").get_array();
  std::optional<Refusal> refusal;
  for (const ToolsPlace place : {ToolsPlace::kSystem, ToolsPlace::kUser}) {
    request["messages"] = with_prompted_tools(messages, *section, place);
    auto text = render_order(chat_template, request);
    if (text && text->find(*section) != std::string::npos) return text;
    if (!text && !refusal) refusal = text.refusal();
  }
  return refusal ? *refusal
                 : Refusal{
                       "tools are not supported: this model's chat template shows neither them "
                       "nor the messages that they could be written into"};
}

bool ends_with_assistant(const json::object& body) {
  const json::value& last = body.at("messages").get_array().back();
  const json::value* role = last.get_object().if_contains("role");
  return role != nullptr && *role == "assistant";
}

std::shared_ptr<const ToolSchemas> shown_tools(const Fields& fields, const ToolChoice& choice) {
  const json::value* tools = fields.find("tools");
  if (!choice.shows_tools || tools == nullptr || tools->get_array().empty()) return nullptr;
  return std::make_shared<const ToolSchemas>(tools->get_array());
}

// The ids of a prompt that the client has rendered itself.
Result<ChatPrompt> given_prompt(const ServerContext& context, const Fields& fields,
                                std::vector<Token> ids, const ToolChoice& choice) {
  for (const Token token : ids)
    if (token < 0 || token >= context.config.vocab)
      return Refusal{
          fmt::format("input_ids must be in [0, {}], got {}.", context.config.vocab - 1, token)};
  ChatPrompt prompt;
  prompt.text = context.tokenizer->decode(ids, SpecialText::kKeep);
  prompt.tokens = std::move(ids);
  prompt.tools = shown_tools(fields, choice);
  prompt.demands_call = choice.demands_call;
  prompt.named_tool = choice.named;
  return prompt;
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

Result<ChatPrompt> render_chat(const ServerContext& context, Fields& fields) {
  check_messages(fields);
  check_tools(fields);
  const ToolChoice choice = read_tool_choice(fields);
  const auto wants_continuation = fields.boolean("continue_final_message");
  const auto wants_opening = fields.boolean("add_generation_prompt");
  const json::object* kwargs = fields.object("chat_template_kwargs");
  const ReasoningWish reasoning = read_reasoning_wish(fields);
  auto ids = fields.tokens("input_ids");
  if (!fields.ok()) return *fields.fault();
  if (context.tokenizer == nullptr)
    return Refusal{
        "messages need a tokenizer, and this server runs with --skip-tokenizer-init: "
        "send input_ids to /generate"};
  if (ids) return given_prompt(context, fields, *std::move(ids), choice);
  if (context.chat_template == nullptr)
    return Refusal{"this model has no chat template: start the server with --chat-template"};

  const json::object& body = fields.all();
  auto tools = shown_tools(fields, choice);
  const bool shows_tools = tools != nullptr;
  const bool is_prompted =
      context.prompts_tools && (shows_tools || mentions_tools(body.at("messages").get_array()));
  // A call that is demanded is bound to the tools, whether the model knows of them or not.
  if (shows_tools && !is_prompted && !choice.demands_call && !context.chat_template->reads_tools())
    return Refusal{
        "tools are not supported: this model's chat template shows them nowhere, so the model "
        "would not know of them (tool_choice required, or one by name, binds the answer to them; "
        "--tools-without-template prompt writes them into the system prompt)"};
  const bool continues = wants_continuation.value_or(false) && ends_with_assistant(body);
  if (continues && wants_opening.value_or(false))
    return Refusal{"Cannot set both `continue_final_message` and `add_generation_prompt` to True."};
  json::object request;
  request["messages"] =
      shown_messages(body.at("messages").get_array(), context.chat_template->source());
  if (shows_tools && !is_prompted) request["tools"] = body.at("tools");
  if (fields.has("documents")) request["documents"] = body.at("documents");
  request["add_generation_prompt"] = wants_opening.value_or(!continues);
  request["continue_final_message"] = continues;
  json::object variables = reasoning.variables();
  if (kwargs != nullptr)
    for (const auto& [key, value] : *kwargs) variables[key] = value;
  request["chat_template_kwargs"] = std::move(variables);
  auto text = is_prompted ? render_prompted(*context.chat_template, request,
                                            shows_tools ? &body.at("tools").get_array() : nullptr)
                          : render_order(*context.chat_template, request);
  if (!text) return text.refusal();
  ChatPrompt prompt;
  prompt.text = *std::move(text);
  prompt.demands_call = choice.demands_call;
  prompt.named_tool = choice.named;
  if (continues) {
    std::optional<Refusal> no_fault;
    prompt.continued = text_of_content(
        Fields(request.at("messages").get_array().back().get_object(), "message", no_fault));
  }
  prompt.tools = std::move(tools);
  return prompt;
}

}  // namespace foretoken
