#include <memory>
#include <utility>

#include "server/request/generate_from_body.h"
#include "server/routes/openai/api.h"
#include "server/routes/openai/chat_format.h"

namespace foretoken {

void handle_chat_completions(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kOpenAi, [](ServerContext& from, Fields& body) {
    return plan_chat(from, body, [&](ChatAnswer answer) {
      return std::make_unique<ChatFormat>(from, std::move(answer));
    });
  });
}

}  // namespace foretoken
