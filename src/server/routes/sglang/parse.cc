// /separate_reasoning and /parse_function_call: the parsers of answers for texts that clients send.

#include <algorithm>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "server/chat/chat_prompt.h"
#include "server/http/error_reply.h"
#include "server/json/json_fields.h"
#include "server/json/json_writer.h"
#include "server/routes/sglang/api.h"
#include "text/dialogue/dialogue.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::size_t kPieceBytes = 4096;  // parsers hold back what they have not read

AnswerParts parts_of(std::string_view text, const Dialogue& dialogue) {
  const auto parser = make_answer_parser(dialogue);
  AnswerParts parts;
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), kPieceBytes)))
    parser->push(text.substr(0, kPieceBytes), parts);
  parser->finish(Ending::kComplete, parts);
  return parts;
}

std::string joined(const AnswerParts& parts, AnswerPart::Kind kind) {
  std::string text;
  for (const AnswerPart& part : parts.list())
    if (part.kind == kind) text += part.text;
  return text;
}

// The style that a field names, else the server's.
template <typename Style>
const Style* style_of(Fields& fields, std::string_view field, const Style* standard,
                      const Style* (*find)(std::string_view),
                      const std::vector<std::string_view>& names) {
  const auto name = fields.string(field);
  const Style* style = name ? find(*name) : standard;
  if (style == nullptr && fields.ok())
    fields.refuse_field(field,
                        fmt::format("Input should be one of {} (found {})", fmt::join(names, ", "),
                                    name ? "'" + *name + "'" : "none"));
  return style;
}

Result<std::string> separate_reasoning(ServerContext& context, Fields& fields) {
  fields.require("text");
  const std::string text = fields.string("text").value_or("");
  const ReasoningStyle* style = style_of(fields, "reasoning_parser", context.reasoning_style,
                                         find_reasoning_style, reasoning_style_names());
  if (!fields.ok()) return *fields.fault();
  Dialogue dialogue;
  dialogue.reasoning = context.spelled(style);
  dialogue.begins_inside = style->starts_inside;
  const AnswerParts parts = parts_of(text, dialogue);
  JsonWriter out;
  out.begin_object();
  out.field("reasoning_text", joined(parts, AnswerPart::Kind::kReasoning));
  out.field("text", joined(parts, AnswerPart::Kind::kText)).end_object();
  return out.take();
}

std::int64_t index_of_tool(const json::array& tools, std::string_view name) {
  const auto found = std::find_if(tools.begin(), tools.end(), [&](const json::value& tool) {
    return tool.at("function").at("name").as_string() == name;
  });
  return found - tools.begin();
}

Result<std::string> parse_function_call(ServerContext& context, Fields& fields) {
  fields.require("text");
  fields.require("tools");
  const std::string text = fields.string("text").value_or("");
  check_tools(fields);
  const CallStyle* style =
      style_of(fields, "tool_call_parser", context.call_style, find_call_style, call_style_names());
  if (!fields.ok()) return *fields.fault();
  const json::array& tools = *fields.array("tools");
  Dialogue dialogue;
  dialogue.calls = context.spelled(style);
  dialogue.call_options = {.tools = std::make_shared<const ToolSchemas>(tools),
                           .whole_calls = true};
  const AnswerParts parts = parts_of(text, dialogue);
  JsonWriter out;
  out.begin_object().field("normal_text", joined(parts, AnswerPart::Kind::kText));
  out.key("calls").begin_array();
  for (const AnswerPart& part : parts.list()) {
    if (part.kind != AnswerPart::Kind::kCall) continue;
    out.begin_object().field("tool_index", index_of_tool(tools, part.name));
    out.field("name", part.name).field("parameters", part.text).end_object();
  }
  out.end_array().end_object();
  return out.take();
}

void answer(ServerContext& context, const ExchangePtr& exchange,
            Result<std::string> (*read)(ServerContext&, Fields&)) {
  const auto refuse = [&](const Refusal& refusal) {
    exchange->reply(error_reply(ErrorStyle::kNative, refusal));
  };
  const auto body = parse_json_object(exchange->request().body);
  if (!body) return refuse(body.refusal());
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  const auto result = read(context, fields);
  if (!result) return refuse(result.refusal());
  exchange->reply({.body = *result});
}

}  // namespace

void handle_separate_reasoning(ServerContext& context, const ExchangePtr& exchange) {
  answer(context, exchange, separate_reasoning);
}

void handle_parse_function_call(ServerContext& context, const ExchangePtr& exchange) {
  answer(context, exchange, parse_function_call);
}

}  // namespace foretoken
