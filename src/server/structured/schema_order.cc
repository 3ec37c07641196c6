#include "server/structured/schema_order.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "server/structured/tag_format.h"

namespace foretoken {
namespace {

namespace json = boost::json;
using namespace tag_format;

constexpr std::size_t kMostParts = 256;     // parameters, in all orders
constexpr std::size_t kMostWeight = 20000;  // values of JSON that they are made of

std::size_t weight(const json::value& value) {
  std::size_t sum = 1;
  if (const auto* list = value.if_array())
    for (const json::value& inner : *list) sum += weight(inner);
  if (const auto* object = value.if_object())
    for (const auto& [name, inner] : *object) sum += weight(inner);
  return sum;
}

// Of one parameter more often, the more before it may be left out.
bool is_too_large(const std::vector<OrderedParameter>& parameters) {
  std::size_t copies = 1, parts = 0, all = 0;
  bool may_be_empty = true;
  for (const OrderedParameter& parameter : parameters) {
    parts += copies;
    all += copies * weight(parameter.text);
    may_be_empty = may_be_empty && !parameter.is_required;
    if (may_be_empty) ++copies;
  }
  return parts > kMostParts || all > kMostWeight;
}

}  // namespace

// Whichever comes first, then those behind it.
Result<json::value> in_schema_order(std::string_view tool,
                                    const std::vector<OrderedParameter>& parameters,
                                    const json::value& separator) {
  if (is_too_large(parameters))
    return Refusal{fmt::format("the tool '{}' has too many parameters that may be left out", tool)};
  json::array ways;
  bool may_be_empty = true;
  for (std::size_t first = 0; first < parameters.size() && may_be_empty; ++first) {
    json::array way{parameters[first].text};
    for (std::size_t i = first + 1; i < parameters.size(); ++i) {
      json::value next = in_order({separator, parameters[i].text});
      way.push_back(parameters[i].is_required ? std::move(next) : maybe(std::move(next)));
    }
    ways.push_back(in_order(std::move(way)));
    may_be_empty = !parameters[first].is_required;
  }
  if (may_be_empty) ways.push_back(constant(""));
  return any_of(std::move(ways));
}

}  // namespace foretoken
