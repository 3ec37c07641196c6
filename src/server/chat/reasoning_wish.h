#pragma once
// ReasoningWish: how much a request wants the model to think, in OpenAI's and OpenRouter's words.
// It is told to the chat template, whose chat_template_kwargs of the same names go before it. Not a
// budget: see thought_limit.h. Pure functions.
//   reasoning_effort    none, minimal, low, medium, high, xhigh, max, or a number in [0, 0.99]
//   reasoning           {"effort": the same, "enabled": ..., "exclude": false}

#include <optional>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "server/json/json_fields.h"

namespace foretoken {

struct ReasoningWish {
  boost::json::value effort = nullptr;  // null: none was named
  std::optional<bool> thinks = {};      // unset: as the template does

  // By the names that templates know.
  boost::json::object variables() const;
};

ReasoningWish read_reasoning_wish(Fields& fields);

}  // namespace foretoken
