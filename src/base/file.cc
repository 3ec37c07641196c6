#include "base/file.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include <unistd.h>

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

std::error_code replace_file(const std::filesystem::path& path,
                             std::initializer_list<std::string_view> pieces) {
  const std::filesystem::path part = path.string() + "." + std::to_string(getpid());
  std::error_code fault;
  errno = 0;
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  for (const std::string_view piece : pieces)
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  out.close();
  if (!out) fault = std::error_code(errno != 0 ? errno : EIO, std::generic_category());
  if (!fault) std::filesystem::rename(part, path, fault);
  std::error_code ignored;
  if (fault) std::filesystem::remove(part, ignored);
  return fault;
}

}  // namespace foretoken
