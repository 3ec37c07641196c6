#pragma once
// From text to JSON values, the one place where limits of the parser are set: nesting deeper than
// 64, invalid UTF-8 and anything behind the value are faults. Thread-safe: no state.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace foretoken {

// Where a text stops being JSON, and why.
struct JsonFault {
  std::size_t byte = 0;
  std::string reason;
};

// The value, or nullopt with the fault filled in.
std::optional<boost::json::value> parse_json(std::string_view text, JsonFault& fault);

// The same for files: `where` names the text in the Error that a fault throws.
boost::json::value read_json(std::string_view text, const std::string& where);
boost::json::object read_json_object(std::string_view text, const std::string& where);

// The object in a JSON file; nullopt when there is no file. Throws Error.
std::optional<boost::json::object> read_json_file(const std::filesystem::path& path);

// "string", "object", ... of a value.
std::string_view json_kind(const boost::json::value& value);

}  // namespace foretoken
