#include "server/server.h"

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "server/generation.h"
#include "server/http_server.h"
#include "server/native_api.h"
#include "server/openai_api.h"
#include "server/router.h"
#include "server/server_context.h"

namespace foretoken {
namespace {

constexpr std::size_t kHeavyThreads = 2;  // parsing, templates, tokenizing

using ContextHandler = void (*)(ServerContext&, const ExchangePtr&);

// Routes of SGLang that this server answers with a reason instead of a 404.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kUnsupported = {
    {{"/encode", "this model generates text"},
     {"/classify", "this model generates text"},
     {"/v1/embeddings", "this model generates text"},
     {"/v1/score", "this model generates text"},
     {"/v1/rerank", "this model generates text"},
     {"/v1/responses", "use /v1/chat/completions"},
     {"/v1/messages", "use /v1/chat/completions"},
     {"/api/chat", "use /v1/chat/completions"},
     {"/api/generate", "use /generate"},
     {"/set_internal_state", "settings are fixed at the start"},
     {"/start_profile", "use an outside profiler"},
     {"/stop_profile", "use an outside profiler"},
     {"/pause_generation", "generation cannot be paused"},
     {"/continue_generation", "generation cannot be paused"},
     {"/load_lora_adapter", "adapters are not loaded"},
     {"/unload_lora_adapter", "adapters are not loaded"},
     {"/separate_reasoning", "there is no reasoning parser"},
     {"/parse_function_call", "there is no tool call parser"}}};

HttpConfig http_config(const ServerConfig& config) {
  HttpConfig out;
  out.host = config.host;
  out.port = config.port;
  out.handle_signals = config.handle_signals;
  out.common_headers = kCorsHeaders;
  out.max_body_bytes = config.max_body_bytes;
  out.drain_timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(config.drain_seconds * 1000));
  return out;
}

}  // namespace

std::string new_request_id() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return fmt::format("{:016x}{:016x}", random(), random());
}

struct Server::State {
  State(const ServerConfig& config, EnginePort& engine, const Tokenizer* tokenizer,
        const ChatTemplate* chat_template)
      : context(config, engine, tokenizer, chat_template),
        http(http_config(config)),
        router({config.api_key, config.admin_api_key},
               [this](std::function<void()> work) { boost::asio::post(heavy, std::move(work)); }) {
    add_routes();
    http.on_drain([this] { context.draining = true; }, [this] { context.engine.abort_all(); });
  }

  void add(std::vector<std::string> methods, std::string path, ContextHandler handler,
           Route traits = {}) {
    traits.methods = std::move(methods);
    traits.path = std::move(path);
    traits.handler = [this, handler](const ExchangePtr& exchange) { handler(context, exchange); };
    router.add(std::move(traits));
  }
  void add_routes();
  void add_unsupported();

  ServerContext context;
  HttpServer http;
  Router router;
  boost::asio::thread_pool heavy{kHeavyThreads};
};

void Server::State::add_routes() {
  Route light, admin;
  light.is_light = true;
  admin.needs_admin = true;
  Route below = light;
  below.matches_below = true;
  add({"GET"}, "/health", handle_health, light);
  add({"GET"}, "/health_generate", handle_health_generate, light);
  add({"GET"}, "/v1/models", handle_models, light);
  add({"GET"}, "/v1/models/", handle_model, below);
  for (const char* path : {"/get_model_info", "/model_info"})
    add({"GET"}, path, handle_model_info, light);
  for (const char* path : {"/get_server_info", "/server_info"})
    add({"GET"}, path, handle_server_info, light);
  add({"GET"}, "/get_load", handle_get_load, light);
  add({"GET"}, "/v1/loads", handle_loads, light);
  if (context.config.enable_metrics) {
    add({"GET"}, "/metrics", handle_metrics, light);
    add({"GET"}, "/metrics/", handle_metrics, light);
  }
  add({"POST", "PUT"}, "/generate", handle_generate);
  add({"POST"}, "/v1/chat/completions", handle_chat_completions);
  add({"POST"}, "/v1/completions", handle_completions);
  for (const char* path : {"/tokenize", "/v1/tokenize"}) add({"POST"}, path, handle_tokenize);
  for (const char* path : {"/detokenize", "/v1/detokenize"}) add({"POST"}, path, handle_detokenize);
  add({"GET", "POST"}, "/flush_cache", handle_flush_cache, admin);
  add({"POST"}, "/abort_request", handle_abort_request, admin);
  add_unsupported();
}

void Server::State::add_unsupported() {
  for (const auto& [path, reason] : kUnsupported) {
    Route route{.methods = {"POST", "PUT"}, .path = std::string(path), .handler = {}};
    route.is_light = true;
    route.handler = [message = fmt::format("{} is not supported: {}", path, reason)](
                        const ExchangePtr& exchange) {
      exchange->reply(error_reply(ErrorStyle::kOpenAi, {message, 400}));
    };
    router.add(std::move(route));
  }
}

Server::Server(const ServerConfig& config, EnginePort& engine, const Tokenizer* tokenizer,
               const ChatTemplate* chat_template)
    : state_(std::make_unique<State>(config, engine, tokenizer, chat_template)) {}

// Work in flight still answers exchanges, so it ends before the sockets go.
Server::~Server() { state_->heavy.join(); }

int Server::port() const { return state_->http.port(); }

void Server::run() {
  state_->http.run(
      [this](std::shared_ptr<Exchange> exchange) { state_->router.handle(std::move(exchange)); });
}

void Server::stop() { state_->http.stop(); }

}  // namespace foretoken
