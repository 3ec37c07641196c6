#include "server/request/draft_wish.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/object.hpp>

namespace foretoken {
namespace {

// Bit i: drafter i of the server.
std::uint32_t read_drafters(Fields& wish, const ServerConfig& config) {
  const auto names = wish.strings("drafters");
  if (!names) return ~0U;
  std::uint32_t drafters = 0;
  for (const std::string& name : *names) {
    const auto found = std::ranges::find(config.drafters, config.drafter_named(name));
    if (found == config.drafters.end()) {
      wish.refuse_field("drafters",
                        fmt::format("this server has {} (found '{}')",
                                    config.drafters.empty()
                                        ? "none"
                                        : fmt::format("{}", fmt::join(config.drafters, " and ")),
                                    name));
      return 0;
    }
    drafters |= std::uint32_t{1} << (found - config.drafters.begin());
  }
  return drafters;
}

}  // namespace

std::optional<DraftWish> read_draft_wish(Fields& body, const ServerConfig& config) {
  constexpr std::array<std::string_view, 3> kKnown{"enabled", "max_nodes", "drafters"};
  const auto* object = body.object("speculative");
  if (object == nullptr) return std::nullopt;
  Fields wish(*object, body.path() + ".speculative", body.fault());
  for (const auto& [key, value] : *object)
    if (std::ranges::count(kKnown, std::string_view(key)) == 0)
      wish.refuse_field(key, fmt::format("expected {}", fmt::join(kKnown, ", ")));
  DraftWish out;
  const auto nodes = wish.integer("max_nodes").value_or(kMaxTreeNodes);
  if (nodes < 1 || nodes > kMaxTreeNodes)
    wish.refuse_field("max_nodes",
                      fmt::format("expected 1 to {} (found {})", kMaxTreeNodes, nodes));
  else
    out.max_nodes = static_cast<int>(nodes);
  out.drafters = read_drafters(wish, config);
  if (!wish.boolean("enabled").value_or(true)) out.max_nodes = 1;
  return out;
}

void write_draft_report(JsonWriter& json, const TokenDelta& counters, const ServerConfig& config) {
  json.begin_object();
  json.key("drafters").begin_object();
  for (std::size_t i = 0; i < std::min(config.drafters.size(), kMostDrafters); ++i) {
    const DraftTally& tally = counters.drafts.by_drafter[i];
    json.key(config.drafters[i]).begin_object();
    json.field("proposed", tally.proposed).field("accepted", tally.accepted).end_object();
  }
  json.end_object();
  json.field("verify_steps", counters.verify_steps);
  // A step that accepted k drafts accepted one at each depth from 1 to k.
  json.key("accepted_by_depth").begin_array();
  const auto& histogram = counters.accept_histogram;
  for (std::size_t depth = 1; depth < histogram.size(); ++depth) {
    int steps = 0;
    for (std::size_t k = depth; k < histogram.size(); ++k) steps += histogram[k];
    json.integer(steps);
  }
  json.end_array();
  if (const auto reason = counters.drafts.reason(); !reason.empty())
    json.field("reason", reason);
  else
    json.field_null("reason");
  json.end_object();
}

}  // namespace foretoken
