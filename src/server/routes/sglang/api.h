#pragma once
// SGLang's own routes: /generate, health, information, cache, abort, pauses, sessions, load,
// corpora. Handlers answer
// their exchange, at once or by starting a Generation. Thread-safe.

#include <memory>

#include "server/context/server_context.h"
#include "server/http/message.h"

namespace foretoken {

using ExchangePtr = std::shared_ptr<Exchange>;

void handle_generate(ServerContext& context, const ExchangePtr& exchange);

void handle_health(ServerContext& context, const ExchangePtr& exchange);
void handle_health_generate(ServerContext& context, const ExchangePtr& exchange);
void handle_model_info(ServerContext& context, const ExchangePtr& exchange);
void handle_weight_version(ServerContext& context, const ExchangePtr& exchange);
void handle_server_info(ServerContext& context, const ExchangePtr& exchange);
void handle_get_load(ServerContext& context, const ExchangePtr& exchange);
void handle_loads(ServerContext& context, const ExchangePtr& exchange);
void handle_set_internal_state(ServerContext& context, const ExchangePtr& exchange);
void handle_flush_cache(ServerContext& context, const ExchangePtr& exchange);
void handle_check_integrity(ServerContext& context, const ExchangePtr& exchange);
void handle_abort_request(ServerContext& context, const ExchangePtr& exchange);
void handle_metrics(ServerContext& context, const ExchangePtr& exchange);

void handle_pause_generation(ServerContext& context, const ExchangePtr& exchange);
void handle_continue_generation(ServerContext& context, const ExchangePtr& exchange);
void handle_update_weight_version(ServerContext& context, const ExchangePtr& exchange);
void handle_open_session(ServerContext& context, const ExchangePtr& exchange);
void handle_close_session(ServerContext& context, const ExchangePtr& exchange);

void handle_add_corpus(ServerContext& context, const ExchangePtr& exchange);
void handle_remove_corpus(ServerContext& context, const ExchangePtr& exchange);
void handle_list_corpora(ServerContext& context, const ExchangePtr& exchange);

void handle_tokenize(ServerContext& context, const ExchangePtr& exchange);
void handle_detokenize(ServerContext& context, const ExchangePtr& exchange);

void handle_separate_reasoning(ServerContext& context, const ExchangePtr& exchange);
void handle_parse_function_call(ServerContext& context, const ExchangePtr& exchange);

}  // namespace foretoken
