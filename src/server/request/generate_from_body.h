#pragma once
// What handlers of routes that generate share: they parse the body as a JSON object, let a function
// of the route make a GenerationPlan of it, and start that. A fault is answered in the style of the
// route's family. Thread-safe.

#include <memory>

#include "base/error.h"
#include "server/context/server_context.h"
#include "server/http/error_reply.h"
#include "server/http/message.h"
#include "server/json/json_fields.h"
#include "server/request/generation.h"

namespace foretoken {

// What to generate, or why not. A fault that `body` collected refuses the plan, too.
using ReadPlan = Result<GenerationPlan> (*)(ServerContext& context, Fields& body);

// Starts what `read_plan` makes of the exchange's body. A plan without choices is answered at once.
void generate_from_body(ServerContext& context, const std::shared_ptr<Exchange>& exchange,
                        ErrorStyle errors, ReadPlan read_plan);

}  // namespace foretoken
