#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/log.h"
#include "server/http/error_reply.h"
#include "server/json/json_fields.h"
#include "server/json/json_writer.h"
#include "server/routes/sglang/api.h"

namespace foretoken {
namespace {

// What SGLang lets be changed while it runs. Acceptance here is exact, so they have no effect, as
// the flags of these names have none.
constexpr std::array<std::string_view, 2> kThresholds = {"speculative_accept_threshold_single",
                                                         "speculative_accept_threshold_acc"};

std::optional<Refusal> check_settings(std::string_view text) {
  const auto body = parse_json_object(text);
  if (!body) return body.refusal();
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  fields.require("server_args");
  const auto* object = fields.object("server_args");
  if (object == nullptr) return fault;
  Fields settings(*object, "body.server_args", fault);
  for (const auto& [name, value] : *object) {
    if (std::ranges::find(kThresholds, std::string_view(name)) == kThresholds.end())
      settings.refuse_field(name, "settings are fixed at the start");
    settings.number(name);
  }
  return fault;
}

}  // namespace

// As with SGLang, the mean of accepted tokens begins anew, and a list has one answer per rank.
void handle_set_internal_state(ServerContext& context, const ExchangePtr& exchange) {
  if (const auto refusal = check_settings(exchange->request().body))
    return exchange->reply(error_reply(ErrorStyle::kNative, *refusal));
  log_info("Drafts are accepted exactly: thresholds of acceptance have no effect.");
  const EngineStats stats = context.engine.stats();
  context.acceptance.forget({stats.accepted_drafts, stats.verify_steps});
  JsonWriter json;
  json.begin_array().boolean(true).end_array();
  exchange->reply({.body = json.take()});
}

}  // namespace foretoken
