#include "server/server.h"

#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "server/context/server_context.h"
#include "server/http/http_server.h"
#include "server/http/kept_id.h"
#include "server/http/router.h"
#include "server/request/generation.h"
#include "server/request/http_watch.h"
#include "server/routes/anthropic/api.h"
#include "server/routes/openai/api.h"
#include "server/routes/page/page.h"
#include "server/routes/sglang/api.h"
#include "server/unsupported_routes.h"
#include "server/work_queue.h"

namespace foretoken {
namespace {

constexpr std::size_t kHeavyThreads = 2;  // parsing, templates, tokenizing
// Bodies from here on wait behind shorter ones; tokenizing this much takes some 50 ms.
constexpr std::size_t kLongBody = 128 << 10;

using ContextHandler = void (*)(ServerContext&, const ExchangePtr&);

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

HttpConfig http_config(const ServerConfig& config) {
  HttpConfig out;
  out.host = config.host;
  out.port = config.port;
  out.io_threads = config.io_threads;
  out.handle_signals = config.handle_signals;
  out.answer_headers = [origins = Origins(config.allowed_origins)](const HttpRequest& head) {
    return origins.headers(head) + kept_id_line(head);
  };
  out.max_connections = config.max_connections;
  out.max_body_bytes = config.max_body_bytes;
  out.body_budget_bytes = config.body_budget_bytes;
  out.receive_timeout = milliseconds_of(config.receive_timeout_seconds);
  out.drain_timeout = milliseconds_of(config.drain_seconds);
  return out;
}

HttpService loading_service() {
  HttpService service;
  service.admit = [](const HttpRequest& head) {
    HttpReply reply{.status = 503, .content_type = "text/plain; charset=utf-8"};
    if (!head.path.starts_with("/health"))
      reply = error_reply(error_style_of(head.path), {"the model is still being loaded", 503});
    reply.headers.emplace_back("retry-after", "1");
    return reply;
  };
  return service;
}

std::string new_request_id() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return fmt::format("{:016x}{:016x}", random(), random());
}

struct Server::State {
  State(HttpServer& http_server, const ServerConfig& config, EnginePort& engine,
        const Tokenizer* tokenizer, const ChatTemplate* chat_template)
      : context(config, engine, tokenizer, chat_template),
        watch(config, context.metrics,
              [this](std::string_view path) { return router.route_of(path); }),
        http(http_server),
        router({config.api_key, config.admin_api_key}, Origins(config.allowed_origins, config.host),
               [this](HandlerKind kind, std::size_t body_bytes, std::function<void()> work) {
                 run(kind, body_bytes, std::move(work));
               }) {
    add_routes();
    http.on_drain(
        [this] {
          context.draining = true;
          router.begin_drain();
        },
        [this] { context.engine.abort_all(); });
  }

  void add(std::vector<std::string> methods, std::string path, ContextHandler handler,
           Route traits = {}) {
    traits.methods = std::move(methods);
    traits.path = std::move(path);
    traits.handler = [this, handler](const ExchangePtr& exchange) { handler(context, exchange); };
    router.add(std::move(traits));
  }
  void add_routes();
  void run(HandlerKind kind, std::size_t body_bytes, std::function<void()> work);

  ServerContext context;
  HttpWatch watch;
  HttpServer& http;
  Router router;
  WorkQueue heavy{kHeavyThreads};
  boost::asio::thread_pool waiting{1}, loading{1};
};

void Server::State::run(HandlerKind kind, std::size_t body_bytes, std::function<void()> work) {
  using Size = WorkQueue::Size;
  if (kind == HandlerKind::kComputing)
    heavy.post(body_bytes < kLongBody ? Size::kShort : Size::kLong, std::move(work));
  else
    boost::asio::post(kind == HandlerKind::kWaiting ? waiting : loading, std::move(work));
}

void Server::State::add_routes() {
  Route light, admin, work, flush;
  light.is_light = true;
  admin.needs_admin = flush.needs_admin = true;
  flush.kind = HandlerKind::kWaiting;
  work.is_work = true;
  Route open = light, below = light;
  open.is_open = true;
  Route probe = open;
  probe.is_costly = true;
  below.matches_below = true;
  add({"GET"}, "/health", handle_health, open);
  add({"GET"}, "/health_generate", handle_health_generate, probe);
  add({"GET"}, "/ping", handle_health, open);
  add({"GET"}, "/v1/models", handle_models, light);
  add({"GET"}, "/v1/models/", handle_model, below);
  for (const char* path : {"/get_model_info", "/model_info"})
    add({"GET"}, path, handle_model_info, light);
  for (const char* path : {"/get_server_info", "/server_info"})
    add({"GET"}, path, handle_server_info, light);
  for (const char* path : {"/get_weight_version", "/weight_version"})
    add({"GET"}, path, handle_weight_version, light);
  add({"GET"}, "/get_load", handle_get_load, light);
  add({"GET"}, "/v1/loads", handle_loads, light);
  if (context.config.enable_metrics) add({"GET"}, "/metrics", handle_metrics, open);
  add({"POST", "PUT"}, "/generate", handle_generate, work);
  add({"POST"}, "/v1/chat/completions", handle_chat_completions, work);
  add({"POST"}, "/v1/completions", handle_completions, work);
  add({"POST"}, "/infill", handle_infill, work);
  add({"POST"}, "/v1/responses", handle_responses, work);
  Route kept;
  kept.matches_below = true;
  add({"GET", "DELETE", "POST"}, "/v1/responses/", handle_response, kept);
  add({"POST"}, "/v1/messages", handle_messages, work);
  add({"POST"}, "/v1/messages/count_tokens", handle_count_tokens);
  add({"POST"}, "/v1/score", handle_score, work);
  add({"POST"}, "/v1/embeddings", handle_embeddings, work);
  for (const char* path : {"/tokenize", "/v1/tokenize"}) add({"POST"}, path, handle_tokenize);
  for (const char* path : {"/detokenize", "/v1/detokenize"}) add({"POST"}, path, handle_detokenize);
  add({"POST"}, "/separate_reasoning", handle_separate_reasoning);
  add({"POST"}, "/parse_function_call", handle_parse_function_call);
  add({"GET", "POST"}, "/flush_cache", handle_flush_cache, flush);
  add({"POST", "PUT"}, "/set_internal_state", handle_set_internal_state, admin);
  add({"GET"}, "/check_integrity", handle_check_integrity, admin);
  add({"POST"}, "/abort_request", handle_abort_request, admin);
  add({"POST"}, "/pause_generation", handle_pause_generation, flush);
  add({"POST"}, "/continue_generation", handle_continue_generation, admin);
  add({"POST"}, "/update_weight_version", handle_update_weight_version, admin);
  add({"GET", "POST"}, "/open_session", handle_open_session);
  add({"GET", "POST"}, "/close_session", handle_close_session);
  Route corpus = admin;
  corpus.is_work = true;
  corpus.kind = HandlerKind::kLoading;  // it is tokenized and sorted
  add({"POST"}, "/add_external_corpus", handle_add_corpus, corpus);
  add({"POST"}, "/remove_external_corpus", handle_remove_corpus, admin);
  add({"GET"}, "/list_external_corpora", handle_list_corpora, admin);
  if (context.config.serves_page) add_page_routes(router);
  add_unsupported_routes(router);
}

Server::Server(HttpServer& http, const ServerConfig& config, EnginePort& engine,
               const Tokenizer* tokenizer, const ChatTemplate* chat_template)
    : state_(std::make_unique<State>(http, config, engine, tokenizer, chat_template)) {}

// Work in flight still answers exchanges, so it ends before they do.
Server::~Server() {
  state_->heavy.close();
  state_->waiting.join();
  state_->loading.join();
}

void Server::open() {
  const Router& router = state_->router;
  HttpService service;
  service.admit = [&router](const HttpRequest& head) { return router.admit(head); };
  service.handle = [&router](std::shared_ptr<Exchange> exchange) {
    router.handle(std::move(exchange));
  };
  service.observer = &state_->watch;
  state_->http.replace(std::move(service));
}

void Server::run() { state_->http.run(); }

}  // namespace foretoken
