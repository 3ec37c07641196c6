// Bodies of all routes that read one, through the handlers of the server: the first line of an
// input is the path, the rest is the body. Every request is answered once, with a known status and
// JSON.

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/json_text.h"
#include "instant_engine.h"
#include "kit.h"
#include "server/context/server_config.h"
#include "server/context/server_context.h"
#include "server/routes/anthropic/api.h"
#include "server/routes/openai/api.h"
#include "server/routes/sglang/api.h"
#include "server/testing/byte_tokenizer.h"
#include "targets.h"
#include "text/utf8.h"

namespace foretoken::fuzz {
namespace {

// Holds what is posted until the target runs it, as a strand does.
class RecordingExchange final : public Exchange {
 public:
  explicit RecordingExchange(HttpRequest request) : request_(std::move(request)) {}

  const HttpRequest& request() const override { return request_; }
  void reply(HttpReply reply) override {
    CHECK(status == 0) << "answered twice";
    status = reply.status;
    is_json = reply.content_type == "application/json";
    body = std::move(reply.body);
    complete = true;
  }
  void start_stream(std::string) override {
    CHECK(status == 0) << "answered twice";
    status = 200;
  }
  void send(std::string piece) override {
    CHECK(status == 200 && !complete) << "a piece outside a stream";
    body += piece;
  }
  void finish_stream() override {
    CHECK(status == 200 && !complete) << "the end of no stream";
    complete = true;
  }
  std::size_t backlog() const override { return 0; }
  void post(std::function<void()> function) override { posted.push_back(std::move(function)); }
  void on_closed(std::function<void()>) override {}
  void on_drained(std::function<void()>) override {}
  void release_body() override {
    request_.body = std::string();
    request_.headers.clear();
  }

  int status = 0;
  bool is_json = false, complete = false;
  std::string body;
  std::deque<std::function<void()>> posted;

 private:
  HttpRequest request_;
};

using Handler = void (*)(ServerContext&, const std::shared_ptr<Exchange>&);

Handler handler_of(std::string_view path) {
  static const std::map<std::string_view, Handler> kHandlers{
      {"/generate", handle_generate},
      {"/v1/chat/completions", handle_chat_completions},
      {"/v1/completions", handle_completions},
      {"/v1/score", handle_score},
      {"/tokenize", handle_tokenize},
      {"/detokenize", handle_detokenize},
      {"/abort_request", handle_abort_request},
      {"/separate_reasoning", handle_separate_reasoning},
      {"/parse_function_call", handle_parse_function_call},
      {"/v1/messages", handle_messages},
      {"/v1/messages/count_tokens", handle_count_tokens},
      {"/v1/responses", handle_responses},
  };
  const auto found = kHandlers.find(path);
  return found == kHandlers.end() ? nullptr : found->second;
}

ServerConfig config() {
  ServerConfig config;
  config.model_path = config.tokenizer_path = "/models/bytes";
  config.served_model_name = "bytes";
  config.vocab = kByteVocab;
  config.context_length = 512;
  config.eos = {kByteEos};
  config.tool_call_parser = "hermes";
  config.reasoning_parser = "qwen3";
  return config;
}

struct Fixture {
  ByteTokenizerFolder folder{ByteTokenizerFolder::Options{}};
  Tokenizer tokenizer{folder.path()};
  ChatTemplate chat = *ChatTemplate::load(folder.path(), tokenizer.config());
  ServerConfig server_config = config();
  InstantEngine engine;
  ServerContext context{server_config, engine, &tokenizer, &chat};
};

void check_answer(const RecordingExchange& exchange) {
  CHECK(exchange.complete) << "no complete answer";
  CHECK(exchange.status == 200 || (exchange.status >= 400 && exchange.status < 600))
      << "status " << exchange.status;
  CHECK(is_valid_utf8(exchange.body)) << "an answer that is no text";
  JsonFault fault;
  CHECK(!exchange.is_json || parse_json(exchange.body, fault))
      << "an answer that is no JSON: " << exchange.body;
}

}  // namespace

void json_body(std::string_view input) {
  static Fixture fixture;
  const std::size_t end = std::min(input.find('\n'), input.size());
  const Handler handler = handler_of(input.substr(0, end));
  if (handler == nullptr) return;
  HttpRequest request;
  request.method = "POST";
  request.path = input.substr(0, end);
  request.body = input.substr(std::min(end + 1, input.size()));
  request.headers.emplace_back("content-type", "application/json");
  const auto exchange = std::make_shared<RecordingExchange>(std::move(request));
  handler(fixture.context, exchange);
  exchange->release_body();  // whoever still reads it is caught
  while (!exchange->posted.empty()) {
    const auto function = std::move(exchange->posted.front());
    exchange->posted.pop_front();
    function();
  }
  check_answer(*exchange);
}

}  // namespace foretoken::fuzz
