#include "server/chat/thought_limit.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <boost/json/object.hpp>

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::string_view kBudget = "thinking_budget";

// Of an object within the body; `found` is what other fields have said.
void read_limit(Fields& fields, std::string_view name, std::string shown, bool is_advice,
                std::optional<ThoughtLimit>& found) {
  const auto tokens = fields.integer(name);
  if (!tokens) return;
  if (*tokens < -1)
    return fields.refuse(
        fmt::format("{} must be at least 0, or -1 for no limit, got {}.", shown, *tokens));
  if (found && !is_advice && found->tokens != *tokens)
    return fields.refuse(fmt::format("only one of {} and {} can be set", found->field, shown));
  if (!found) found = ThoughtLimit{*tokens, std::move(shown), is_advice};
}

}  // namespace

std::optional<ThoughtLimit> read_thought_limit(Fields& fields) {
  std::optional<ThoughtLimit> found;
  read_limit(fields, "thinking_token_budget", "thinking_token_budget", false, found);
  read_limit(fields, kBudget, std::string(kBudget), false, found);
  if (const json::object* params = fields.object("custom_params")) {
    Fields inner(*params, fields.path() + ".custom_params", fields.fault());
    for (const auto& [key, value] : *params)
      if (std::string_view(key) != kBudget && !is_empty_value(value))
        inner.refuse(
            fmt::format("custom_params.{} is not supported: there are no custom logit "
                        "processors, and of their parameters only {} is known",
                        std::string_view(key), kBudget));
    read_limit(inner, kBudget, "custom_params.thinking_budget", false, found);
  }
  if (const json::object* reasoning = fields.object("reasoning")) {
    Fields inner(*reasoning, fields.path() + ".reasoning", fields.fault());
    read_limit(inner, "max_tokens", "reasoning.max_tokens", true, found);
  }
  if (const json::object* kwargs = fields.object("chat_template_kwargs")) {
    Fields inner(*kwargs, fields.path() + ".chat_template_kwargs", fields.fault());
    read_limit(inner, kBudget, "chat_template_kwargs.thinking_budget", true, found);
  }
  return found && found->tokens >= 0 ? found : std::nullopt;
}

}  // namespace foretoken
