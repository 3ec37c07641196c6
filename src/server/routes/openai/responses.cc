#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "server/http/error_reply.h"
#include "server/json/json_writer.h"
#include "server/request/generate_from_body.h"
#include "server/routes/openai/api.h"
#include "server/routes/openai/chat_of_response.h"
#include "server/routes/openai/responses_format.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr ErrorStyle kStyle = ErrorStyle::kResponses;
constexpr std::string_view kRoute = "/v1/responses/", kCancel = "/cancel";

// The answer with another status, and an error where it failed.
std::string with_status(const std::string& answer, std::string_view status, json::value error) {
  JsonFault fault;
  json::object response = parse_json(answer, fault)->as_object();
  response["status"] = status;
  response["error"] = std::move(error);
  return json::serialize(response);
}

std::string message_of(const HttpReply& reply) {
  JsonFault fault;
  const auto body = parse_json(reply.body, fault);
  return body ? std::string(body->at("error").at("message").as_string()) : reply.body;
}

// What came of an answer that nobody waits for: whole ones were kept by their format.
void keep_failure(ResponseStore& responses, const std::string& id, const HttpReply& reply) {
  if (reply.status < 400) return;
  responses.change(id, [&](KeptResponse& kept) {
    kept.answer =
        with_status(kept.answer, "failed",
                    json::object{{"code", "server_error"}, {"message", message_of(reply)}});
    kept.running.clear();
  });
}

Result<GenerationPlan> plan_response(ServerContext& context, Fields& body) {
  auto request = chat_of_response(context, body);
  if (!body.ok()) return *body.fault();
  const bool is_late = request.runs_in_background;
  const auto chat = std::move(request.chat);
  Fields fields(chat, body.path(), body.fault());
  ResponsesFormat* format = nullptr;
  auto plan = plan_chat(context, fields, [&](ChatAnswer answer) {
    auto made = std::make_unique<ResponsesFormat>(context, std::move(answer), std::move(request));
    format = made.get();
    return made;
  });
  // Who reads a stream waits for it.
  if (!plan || !is_late || plan->stream || !body.ok()) return plan;
  plan->early_reply = format->begin_in_background();
  plan->late_reply = [responses = context.responses.get(), id = format->id()](
                         const HttpReply& reply) { keep_failure(*responses, id, reply); };
  return plan;
}

Refusal not_found(std::string_view id) {
  return {fmt::format("Response with id '{}' not found.", id), 404};
}

HttpReply kept_response(ServerContext& context, const HttpRequest& request, const std::string& id) {
  if (request.query_value("stream") == "true")
    return error_reply(kStyle, {"stream is not supported: a kept answer is sent whole"});
  const auto kept = context.responses->find(id);
  if (!kept) return error_reply(kStyle, not_found(id));
  return {.body = kept->answer};
}

HttpReply deleted_response(ServerContext& context, const std::string& id) {
  const auto kept = context.responses->remove(id);
  if (!kept) return error_reply(kStyle, not_found(id));
  if (!kept->running.empty()) context.engine.abort(kept->running);
  JsonWriter json;
  json.begin_object().field("id", id).field("object", "response").field("deleted", true);
  json.end_object();
  return {.body = json.take()};
}

bool is_true(const json::value& value) { return value.is_bool() && value.get_bool(); }

HttpReply cancelled_response(ServerContext& context, const std::string& id) {
  std::string running;
  context.responses->change(id, [&](KeptResponse& kept) {
    if (kept.running.empty()) return;
    kept.answer = with_status(kept.answer, "cancelled", nullptr);
    running = std::exchange(kept.running, {});
  });
  const auto kept = context.responses->find(id);
  if (!kept) return error_reply(kStyle, not_found(id));
  if (!running.empty()) context.engine.abort(running);
  JsonFault fault;
  if (!is_true(parse_json(kept->answer, fault)->at("background")))
    return error_reply(kStyle, {"only responses with background can be cancelled"});
  return {.body = kept->answer};
}

}  // namespace

void handle_responses(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, kStyle, plan_response);
}

void handle_response(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  std::string id = request.path.substr(kRoute.size());
  const bool cancels = id.ends_with(kCancel);
  if (cancels) id.resize(id.size() - kCancel.size());
  const bool has_more = id.find('/') != std::string::npos;  // a route that there is not
  if (has_more || cancels != (request.method == "POST"))
    return exchange->reply(error_reply(kStyle, {"Not Found", 404}));
  if (cancels) return exchange->reply(cancelled_response(context, id));
  exchange->reply(request.method == "DELETE" ? deleted_response(context, id)
                                             : kept_response(context, request, id));
}

}  // namespace foretoken
