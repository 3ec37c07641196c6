#pragma once
// The OpenAI routes: /v1/models, /v1/chat/completions, /v1/completions, /v1/responses, with
// SGLang's extra fields, and llama.cpp's /infill. Handlers answer their exchange, at once or by
// starting a Generation.
// Thread-safe.

#include <memory>

#include "server/context/server_context.h"
#include "server/http/message.h"

namespace foretoken {

void handle_embeddings(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_score(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_models(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_model(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_chat_completions(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_responses(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_response(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_infill(ServerContext& context, const std::shared_ptr<Exchange>& exchange);
void handle_completions(ServerContext& context, const std::shared_ptr<Exchange>& exchange);

}  // namespace foretoken
