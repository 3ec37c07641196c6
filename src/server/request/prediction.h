#pragma once
// The `prediction` of a chat request: what its client expects as the answer, as OpenAI's API has it
// ("Predicted Outputs"). It says where drafts may come from and changes no token.

#include <optional>
#include <vector>

#include "server/context/server_context.h"
#include "server/json/json_fields.h"

namespace foretoken {

// {"type": "content", "content": a text or a list of text parts}; nullopt: there is none. What is
// malformed is the body's fault, or refused. Tokens that no answer could reach are left out, all of
// them where the server does not draft from predictions.
Result<std::optional<std::vector<Token>>> read_prediction(const ServerContext& context,
                                                          Fields& body);

}  // namespace foretoken
