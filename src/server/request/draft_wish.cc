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
  constexpr std::array<std::string_view, 4> kKnown{"enabled", "max_nodes", "drafters", "trace"};
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
  out.is_traced = wish.boolean("trace").value_or(false);
  return out;
}

}  // namespace foretoken
