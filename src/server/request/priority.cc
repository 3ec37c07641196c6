#include "server/request/priority.h"

#include <fmt/format.h>

namespace foretoken {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 53;  // of a priority, either sign
constexpr std::int64_t kLast = 2 * kMost;              // of requests that name none

}  // namespace

std::int64_t read_rank(Fields& fields, const ServerConfig& config) {
  const auto asked = fields.integer("priority");
  if (asked && (*asked > kMost || *asked < -kMost)) {
    fields.refuse_field("priority", fmt::format("must be in [{}, {}]", -kMost, kMost));
    return 0;
  }
  const PriorityRules& rules = config.priorities;
  if (!rules.are_served) {
    if (asked && rules.refuses_unserved)
      fields.refuse(
          "Using priority is disabled for this server. Please send a new request without a "
          "priority.");
    return 0;
  }
  const auto priority = asked ? asked : rules.standard;
  if (!priority) return kLast;
  return rules.low_first ? *priority : -*priority;
}

}  // namespace foretoken
