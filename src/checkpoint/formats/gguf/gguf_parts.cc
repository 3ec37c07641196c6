#include "checkpoint/formats/gguf/gguf_parts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 5;

std::optional<std::size_t> five_digits(std::string_view text) {
  if (text.size() != kDigits || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  std::size_t number = 0;
  for (const char digit : text) number = 10 * number + static_cast<std::size_t>(digit - '0');
  return number;
}

// What holds weights of the formats that have priority where a folder has both.
bool is_other_format(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".safetensors" || extension == ".bin" || extension == ".pt";
}

}  // namespace

std::string GgufPart::path_of(std::size_t part) const {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, part, count);
}

std::optional<GgufPart> part_of(const std::string& path) {
  constexpr std::string_view kOf = "-of-", kExtension = ".gguf";
  const std::size_t tail = 1 + kDigits + kOf.size() + kDigits + kExtension.size();
  if (path.size() <= tail || !path.ends_with(kExtension)) return std::nullopt;
  const std::string_view end = std::string_view(path).substr(path.size() - tail);
  const auto number = five_digits(end.substr(1, kDigits));
  const auto count = five_digits(end.substr(1 + kDigits + kOf.size(), kDigits));
  if (end[0] != '-' || end.substr(1 + kDigits, kOf.size()) != kOf || !number || !count ||
      *number < 1 || *number > *count)
    return std::nullopt;
  return GgufPart{.prefix = path.substr(0, path.size() - tail), .number = *number, .count = *count};
}

bool is_gguf(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;  // a pipe would wait for its writer
  std::ifstream file(path, std::ios::binary);
  std::string magic(4, '\0');
  return file.read(magic.data(), 4) && magic == "GGUF";
}

std::vector<std::string> gguf_files_of(const std::string& path) {
  const auto part = part_of(path);
  if (!part) return {path};
  std::vector<std::string> files;
  for (std::size_t number = 1; number <= part->count; ++number)
    files.push_back(part->path_of(number));
  return files;
}

std::optional<std::string> gguf_model_of(const std::string& folder) {
  std::set<std::string> models;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path& path = entry->path();
    if (is_other_format(path)) return std::nullopt;
    // Beside a model lies what turns images into its tokens.
    if (path.extension() != ".gguf" || path.filename().string().starts_with("mmproj") ||
        !is_gguf(path.string()))
      continue;
    const auto part = part_of(path.string());
    models.insert(part ? part->path_of(1) : path.string());
  }
  if (models.empty()) return std::nullopt;
  if (models.size() == 1) return *models.begin();
  std::string found;
  for (const std::string& model : models)
    found += (found.empty() ? "" : ", ") + fs::path(model).filename().string();
  throw Error({"the folder holds several GGUF models", folder, "the path of one of them", found});
}

}  // namespace foretoken
