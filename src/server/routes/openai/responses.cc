#include <memory>
#include <utility>

#include "server/request/generate_from_body.h"
#include "server/routes/openai/api.h"
#include "server/routes/openai/chat_of_response.h"
#include "server/routes/openai/responses_format.h"

namespace foretoken {
namespace {

Result<GenerationPlan> plan_response(ServerContext& context, Fields& body) {
  auto request = chat_of_response(context, body);
  if (!body.ok()) return *body.fault();
  const auto chat = std::move(request.chat);
  Fields fields(chat, body.path(), body.fault());
  return plan_chat(context, fields, [&](ChatAnswer answer) {
    return std::make_unique<ResponsesFormat>(context, std::move(answer), std::move(request));
  });
}

}  // namespace

void handle_responses(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kOpenAi, plan_response);
}

}  // namespace foretoken
