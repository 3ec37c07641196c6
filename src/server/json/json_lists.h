#pragma once
// What readers of nested bodies share: a list of objects, read one after the other, and texts that
// must be there.

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "server/json/json_fields.h"

namespace foretoken {

// Calls `read` with the Fields of each object of a list, up to the request's first fault; none
// where there is no list.
template <typename Read>
void each_object(Fields& fields, std::string_view name, Read read) {
  const boost::json::array* list = fields.array(name);
  if (list == nullptr) return;
  std::size_t index = 0;
  for (const boost::json::value& item : *list) {
    const std::string path = fmt::format("{}.{}.{}", fields.path(), name, index++);
    if (!item.is_object())
      return fields.refuse(
          fmt::format("{}: Input should be a valid dictionary (found {})", path, json_kind(item)));
    Fields inner(item.get_object(), path, fields.fault());
    read(inner);
    if (!fields.ok()) return;
  }
}

inline std::string required_text(Fields& fields, std::string_view name) {
  fields.require(name);
  return fields.string(name).value_or("");
}

}  // namespace foretoken
