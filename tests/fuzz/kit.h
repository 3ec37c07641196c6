#pragma once
// What targets are made of: a file that holds an input, and inputs in several parts.

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cstdlib>

#include "base/error.h"

namespace foretoken::fuzz {

// A folder that goes away with the program.
class TempFolder {
 public:
  TempFolder() {
    // Memory where there is some: a target writes thousands of files a second.
    std::string name =
        std::filesystem::is_directory("/dev/shm") ? "/dev/shm/fuzz_XXXXXX" : "/tmp/fuzz_XXXXXX";
    CHECK(mkdtemp(name.data()) != nullptr) << "no folder for inputs";
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(std::string_view name) const { return (path_ / name).string(); }
  void write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

// A copy in a block of exactly that size: the sanitizer guards its end.
class ExactBytes {
 public:
  explicit ExactBytes(std::string_view input)
      : bytes_(new std::byte[input.size()]), size_(input.size()) {
    for (std::size_t i = 0; i < size_; ++i) bytes_[i] = static_cast<std::byte>(input[i]);
  }
  std::span<const std::byte> span() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_;
};

// Inputs of two texts are written with this line between them.
inline constexpr std::string_view kSeparator = "\n===\n";

inline std::pair<std::string_view, std::string_view> two_parts(std::string_view input) {
  const auto at = input.find(kSeparator);
  if (at == std::string_view::npos) return {input, {}};
  return {input.substr(0, at), input.substr(at + kSeparator.size())};
}

// Files may be refused, with an Error and nothing else.
template <typename Read>
void may_refuse(Read read) {
  try {
    read();
  } catch (const Error& error) {
    CHECK(error.what()[0] != '\0') << "a refusal without a reason";
  }
}

}  // namespace foretoken::fuzz
