#pragma once
// ThoughtLimit: how many tokens a request lets the model think, in the words of several servers.
// Not whether that can be kept: see thought_budget.h. Pure functions.

#include <cstdint>
#include <optional>
#include <string>

#include "server/json/json_fields.h"

namespace foretoken {

struct ThoughtLimit {
  std::int64_t tokens = 0;
  std::string field;  // that asked for it, for messages
  // Other servers take the field for advice: where it cannot be kept, it has no effect.
  bool is_advice = false;
};

// Reads thinking_token_budget (vLLM's), thinking_budget, that of custom_params (SGLang's) and as
// advice max_tokens of reasoning (OpenRouter's) and thinking_budget of chat_template_kwargs. Nullopt: there is no limit, or the fields are at fault.
std::optional<ThoughtLimit> read_thought_limit(Fields& fields);

}  // namespace foretoken
