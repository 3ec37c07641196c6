#include "app/machine/fingerprint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <boost/crc.hpp>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_parts.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

using Crc64 = boost::crc_optimal<64, 0x42F0E1EBA9EA3693, ~0ULL, ~0ULL, true, true>;

void add(Crc64& crc, std::string_view text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  crc.process_bytes(&size, sizeof size);
  crc.process_bytes(text.data(), text.size());
}

void add_file(Crc64& crc, const fs::path& path) {
  constexpr std::uintmax_t kEnd = 1 << 16;  // bytes of a large file's beginning and end
  constexpr std::uintmax_t kSmall = 1 << 24;
  std::error_code fault;
  const std::uintmax_t size = fs::file_size(path, fault);
  std::ifstream file(path, std::ios::binary);
  if (fault || !file) throw Error({.what = "cannot read file", .where = path.string()});
  add(crc, path.filename().string());
  add(crc, std::to_string(size));
  const auto add_bytes = [&](std::uintmax_t from, std::uintmax_t count) {
    std::string bytes(count, '\0');
    file.seekg(static_cast<std::streamoff>(from));
    file.read(bytes.data(), static_cast<std::streamsize>(count));
    if (static_cast<std::uintmax_t>(file.gcount()) != count)
      throw Error({.what = "cannot read file", .where = path.string()});
    add(crc, bytes);
  };
  if (size <= kSmall) {
    add_bytes(0, size);
  } else {
    add_bytes(0, kEnd);
    add_bytes(size / 2, kEnd);
    add_bytes(size - kEnd, kEnd);
  }
}

std::string print_of(const std::string& path, const std::string& more,
                     const std::function<bool(const std::string&)>& counts) {
  Crc64 crc;
  add(crc, more);
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    for (const std::string& file : gguf_files_of(path)) add_file(crc, file);
  } else {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file() && counts(entry.path().filename().string()))
        files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& file : files) add_file(crc, file);
  }
  return fmt::format("{:016x}", crc.checksum());
}

}  // namespace

// Texts for people are not part of a model.
std::string fingerprint(const std::string& path, const std::string& more) {
  return print_of(path, more, [](const std::string& name) {
    return name.ends_with(".json") || name.ends_with(".safetensors") || name.ends_with(".bin") ||
           name.ends_with(".pt") || name.ends_with(".pth");
  });
}

std::string tokenizer_fingerprint(const std::string& path) {
  return print_of(path, {}, [](const std::string& name) {
    return name == "tokenizer.json" || name == "tokenizer.model" ||
           name == "tokenizer_config.json" || name == "special_tokens_map.json" ||
           name == "added_tokens.json" || name == "chat_template.jinja" ||
           name == "chat_template.json";
  });
}

}  // namespace foretoken
