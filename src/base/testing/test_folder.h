#pragma once
// A fresh folder for one test, removed with everything in it. Tests only.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace foretoken {

class TestFolder {
 public:
  TestFolder() : TestFolder(std::filesystem::temp_directory_path()) {}
  explicit TestFolder(const std::filesystem::path& place)
      : path_((place / "foretoken_test_XXXXXX").string()) {
    CHECK(mkdtemp(path_.data()) != nullptr) << path_;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file below the folder, making the folders in between; returns its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    const std::filesystem::path path = file(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  void link(std::string_view name, const std::filesystem::path& target) const {
    std::filesystem::create_symlink(std::filesystem::absolute(target), file(name));
  }

 private:
  std::string path_;
};

}  // namespace foretoken
