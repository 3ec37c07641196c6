#include "text/rust_bridge.h"

#include <fstream>
#include <sstream>

#include <boost/json/parse.hpp>

#include "base/error.h"

namespace foretoken {

std::string take(FtBuffer buffer) {
  std::string text(buffer.data, buffer.size);
  ft_buffer_free(buffer);
  return text;
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) return std::nullopt;
  if (!std::filesystem::is_regular_file(status)) {
    throw Error({"cannot read file", path.string(), "a regular file", "something else"});
  }
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  if (!(in && (in.peek() == std::ifstream::traits_type::eof() || bytes << in.rdbuf()))) {
    throw Error({"cannot read file", path.string(), {}, {}});
  }
  return std::move(bytes).str();
}

std::optional<boost::json::object> read_json_file(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  boost::json::error_code code;
  boost::json::parse_options options;
  options.max_depth = 64;
  boost::json::value value = boost::json::parse(*text, code, {}, options);
  if (code) throw Error({"invalid JSON", path.string(), {}, code.message()});
  if (!value.is_object()) {
    throw Error({"invalid JSON file", path.string(), "an object", "another kind of value"});
  }
  return std::move(value.as_object());
}

}  // namespace foretoken
