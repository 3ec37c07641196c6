// What an operator does to a running server: pauses, the version of the weights, sessions.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/http/error_reply.h"
#include "server/json/json_fields.h"
#include "server/json/json_writer.h"
#include "server/routes/sglang/api.h"

namespace foretoken {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);  // for the steps in flight
constexpr std::size_t kMostNameBytes = 256;

void reply_message(const ExchangePtr& exchange, std::string_view message) {
  JsonWriter json;
  json.begin_object().field("message", message).field("status", "ok").end_object();
  exchange->reply({.body = json.take()});
}

void refuse(const ExchangePtr& exchange, const Refusal& refusal) {
  exchange->reply(error_reply(ErrorStyle::kNative, refusal));
}

// Reads the fields of a body, which may be empty; false: it was refused.
template <class Read>
bool read_body(const ExchangePtr& exchange, const Read& read) {
  const std::string& text = exchange->request().body;
  const auto body = parse_json_object(text.empty() ? "{}" : text);
  if (!body) {
    refuse(exchange, body.refusal());
    return false;
  }
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  read(fields);
  if (fault) refuse(exchange, *fault);
  return !fault;
}

void check_name(Fields& fields, std::string_view field, const std::string& name) {
  if (name.empty() || name.size() > kMostNameBytes)
    fields.refuse_field(
        field, fmt::format("1 to {} bytes are expected (found {})", kMostNameBytes, name.size()));
}

}  // namespace

void handle_pause_generation(ServerContext& context, const ExchangePtr& exchange) {
  std::string mode;
  const auto read = [&](Fields& fields) {
    mode = fields.string("mode").value_or("abort");
    if (mode != "abort" && mode != "retract" && mode != "in_place")
      fields.refuse_field("mode", "expected abort, retract or in_place");
  };
  if (!read_body(exchange, read)) return;
  auto paused = context.engine.pause(mode == "retract" ? Pause::kRetract : Pause::kInPlace);
  if (mode == "abort") context.engine.abort_all();
  if (paused.wait_for(kPatience) != std::future_status::ready)
    return refuse(exchange, {"the engine has not finished its step within 10 s", 503});
  reply_message(exchange, "Generation paused successfully.");
}

void handle_continue_generation(ServerContext& context, const ExchangePtr& exchange) {
  if (!read_body(exchange, [](Fields&) {})) return;
  context.engine.resume();
  reply_message(exchange, "Generation continued successfully.");
}

void handle_weight_version(ServerContext& context, const ExchangePtr& exchange) {
  JsonWriter json;
  json.begin_object().field("weight_version", context.weight_version.get()).end_object();
  exchange->reply({.body = json.take()});
}

void handle_update_weight_version(ServerContext& context, const ExchangePtr& exchange) {
  std::string version;
  bool aborts = true;
  const auto read = [&](Fields& fields) {
    fields.require("new_version");
    version = fields.string("new_version").value_or("");
    check_name(fields, "new_version", version);
    aborts = fields.boolean("abort_all_requests").value_or(true);
  };
  if (!read_body(exchange, read)) return;
  if (aborts) context.engine.abort_all();
  context.weight_version.set(version);
  JsonWriter json;
  json.begin_object().field("success", true);
  json.field("message", "Weight version updated to " + version).field("new_version", version);
  json.end_object();
  exchange->reply({.body = json.take()});
}

void handle_open_session(ServerContext& context, const ExchangePtr& exchange) {
  std::string id;
  bool is_streaming = false;
  std::optional<double> seconds;
  const auto read = [&](Fields& fields) {
    // Of the text; what sessions hold is bounded in tokens, see SessionStore.
    fields.require("capacity_of_str_len");
    fields.integer("capacity_of_str_len");
    id = fields.string("session_id").value_or(new_request_id());
    check_name(fields, "session_id", id);
    is_streaming = fields.boolean("streaming").value_or(false);
    seconds = fields.number("timeout");
    if (seconds && !(*seconds > 0)) fields.refuse_field("timeout", "must be positive");
  };
  if (!read_body(exchange, read)) return;
  std::optional<SessionStore::Clock::duration> timeout;
  constexpr double kYear = 366.0 * 24 * 3600;
  if (seconds && *seconds < kYear)
    timeout = std::chrono::duration_cast<SessionStore::Clock::duration>(
        std::chrono::duration<double>(*seconds));
  if (const auto refusal = context.sessions->open(id, is_streaming, timeout))
    return refuse(exchange, *refusal);
  std::string json;
  append_json_string(json, id);
  exchange->reply({.body = std::move(json)});
}

void handle_close_session(ServerContext& context, const ExchangePtr& exchange) {
  std::string id;
  const auto read = [&](Fields& fields) {
    fields.require("session_id");
    id = fields.string("session_id").value_or("");
  };
  if (!read_body(exchange, read)) return;
  context.sessions->close(id);
  exchange->reply({.content_type = "text/plain; charset=utf-8"});
}

}  // namespace foretoken
