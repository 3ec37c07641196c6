#include "server/request/generate_from_body.h"

#include <optional>
#include <utility>

namespace foretoken {

void generate_from_body(ServerContext& context, const std::shared_ptr<Exchange>& exchange,
                        ErrorStyle errors, ReadPlan read_plan) {
  const auto refuse = [&](const Refusal& refusal) {
    exchange->reply(error_reply(errors, refusal));
  };
  const auto body = parse_json_object(exchange->request().body);
  if (!body) return refuse(body.refusal());
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  auto plan = read_plan(context, fields);
  if (!plan) return refuse(plan.refusal());
  if (fault) return refuse(*fault);
  plan->errors = errors;
  if (plan->choices.empty()) return exchange->reply(plan->format->whole({}));
  if (!plan->early_reply) return start_generation(context, exchange, *std::move(plan));
  HttpRequest head = exchange->request();
  head.body = {};
  const auto detached = context.detached.begin(std::move(head), std::move(plan->late_reply));
  const HttpReply early = *std::move(plan->early_reply);
  start_generation(context, detached, *std::move(plan));
  detached->release_body();
  exchange->reply(early);
}

}  // namespace foretoken
