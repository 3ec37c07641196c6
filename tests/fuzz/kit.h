#pragma once
// What targets are made of: a file that holds an input, and inputs in several parts.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/testing/test_folder.h"

namespace foretoken::fuzz {

// In memory where there is some: a target writes thousands of files a second.
class InputFolder : public TestFolder {
 public:
  InputFolder() : TestFolder(std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") {}
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
