#include <memory>
#include <utility>

#include "server/http/error_reply.h"
#include "server/json/json_writer.h"
#include "server/request/generate_from_body.h"
#include "server/request/prompt_text.h"
#include "server/routes/anthropic/api.h"
#include "server/routes/anthropic/chat_of_messages.h"
#include "server/routes/anthropic/messages_format.h"

namespace foretoken {
namespace {

Result<GenerationPlan> plan_messages(ServerContext& context, Fields& body) {
  const auto chat = chat_of_messages(body, context.unknown_fields, false);
  if (!body.ok()) return *body.fault();
  Fields fields(chat, body.path(), body.fault());
  return plan_chat(context, fields, [&](ChatAnswer answer) {
    return std::make_unique<MessagesFormat>(context, std::move(answer));
  });
}

Result<std::size_t> count_tokens(ServerContext& context, Fields& body) {
  const auto chat = chat_of_messages(body, context.unknown_fields, true);
  if (!body.ok()) return *body.fault();
  Fields fields(chat, body.path(), body.fault());
  const auto prompt = render_chat(context, fields);
  if (!prompt) return prompt.refusal();
  const auto tokens = encode_text(context, prompt->text, AddSpecial::kNo);
  if (!tokens) return tokens.refusal();
  return tokens->size();
}

}  // namespace

void handle_messages(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kAnthropic, plan_messages);
}

void handle_count_tokens(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  const auto refuse = [&](const Refusal& refusal) {
    exchange->reply(error_reply(ErrorStyle::kAnthropic, refusal));
  };
  const auto body = parse_json_object(exchange->request().body);
  if (!body) return refuse(body.refusal());
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  const auto count = count_tokens(context, fields);
  if (!count) return refuse(count.refusal());
  JsonWriter json;
  json.begin_object().field("input_tokens", *count).end_object();
  exchange->reply({.body = json.take()});
}

}  // namespace foretoken
