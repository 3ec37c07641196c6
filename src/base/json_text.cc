#include "base/json_text.h"

#include <utility>

#include <boost/json/stream_parser.hpp>

#include "base/error.h"
#include "base/file.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 64;

}  // namespace

std::optional<json::value> parse_json(std::string_view text, JsonFault& fault) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::stream_parser parser({}, options);
  json::error_code error;
  std::size_t used = parser.write(text.data(), text.size(), error);
  if (!error) parser.finish(error);
  if (!error) return parser.release();
  if (used == 0) used = text.size();
  fault = {used, error.message()};
  return std::nullopt;
}

json::value read_json(std::string_view text, const std::string& where) {
  JsonFault fault;
  auto value = parse_json(text, fault);
  if (!value)
    throw Error(
        {"not valid JSON", where, {}, fault.reason + " at byte " + std::to_string(fault.byte)});
  return std::move(*value);
}

json::object read_json_object(std::string_view text, const std::string& where) {
  json::value value = read_json(text, where);
  if (!value.is_object())
    throw Error({"wrong JSON", where, "an object", std::string(json_kind(value))});
  return std::move(value.get_object());
}

std::optional<json::object> read_json_file(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  return read_json_object(*text, path.string());
}

std::string_view json_kind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "integer";
    case json::kind::double_:
      return "number";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "list";
    case json::kind::object:
      return "object";
  }
  return "value";
}

}  // namespace foretoken
