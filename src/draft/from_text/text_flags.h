#pragma once
// The flag that algorithms which read texts have in common. Pure functions.

#include <string>
#include <string_view>

#include "base/flag.h"
#include "draft/draft_isolation.h"

namespace foretoken {

inline Flag isolation_flag(std::string_view name) {
  return {.names = {name},
          .text =
              "whose texts drafts come from: of the request, of the same cache salt or API key, of "
              "all (timing can tell whether others had the same words)",
          .default_value = "key",
          .choices = {"request", "key", "shared"}};
}

inline DraftIsolation isolation_named(const std::string& name) {
  if (name == "request") return DraftIsolation::kRequest;
  return name == "shared" ? DraftIsolation::kShared : DraftIsolation::kKey;
}

}  // namespace foretoken
