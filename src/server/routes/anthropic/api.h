#pragma once
// Anthropic's routes: /v1/messages and the counting of its tokens. Handlers answer their exchange,
// at once or by starting a Generation. Thread-safe.

#include <memory>

#include "server/context/server_context.h"
#include "server/http/message.h"

namespace foretoken {

void handle_messages(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_count_tokens(ServerContext& context, const std::shared_ptr<Exchange>& exchange);

}  // namespace foretoken
