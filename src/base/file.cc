#include "base/file.h"

#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace foretoken {

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) return std::nullopt;
  if (!std::filesystem::is_regular_file(status))
    throw Error({"cannot read file", path.string(), "a regular file", "something else"});
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  // An empty file inserts nothing, which streams count as a failure.
  if (!(in && (in.peek() == std::ifstream::traits_type::eof() || bytes << in.rdbuf())))
    throw Error({"cannot read file", path.string(), {}, {}});
  return std::move(bytes).str();
}

}  // namespace foretoken
