#include "app/machine/fingerprint.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(Fingerprint, tells_folders_apart_by_names_sizes_and_bytes) {
  const TestFolder folder;
  std::set<std::string> prints;
  const auto is_new = [&] { return prints.insert(fingerprint(folder.path())).second; };
  folder.write("config.json", "{}");
  EXPECT_TRUE(is_new());
  folder.write("README.md", "text");
  EXPECT_FALSE(is_new()) << "texts for people are no part of a model";
  folder.write("config.json", "{ }");
  EXPECT_TRUE(is_new());
  folder.write("model.safetensors", "a");
  EXPECT_TRUE(is_new());
  folder.write("model.safetensors", "b");
  EXPECT_TRUE(is_new());
  EXPECT_NE(fingerprint(folder.path(), "more"), fingerprint(folder.path()));
}

// Of a file of 17 MiB its beginning, its middle and its end.
TEST(Fingerprint, of_a_large_file_three_pieces_are_read) {
  constexpr std::uintmax_t kSize = (std::uintmax_t{17} << 20) + 1;
  const TestFolder folder;
  folder.write("model.bin", "");
  const std::string path = folder.path() + "/model.bin";
  const auto print_with = [&](std::uintmax_t place) {
    std::filesystem::resize_file(path, 0);
    std::filesystem::resize_file(path, kSize);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(place));
    file.put('x').flush();
    return fingerprint(path);
  };
  std::set<std::string> prints{print_with(1 << 20)};
  for (const std::uintmax_t seen : {std::uintmax_t{0}, kSize / 2, kSize - 1})
    EXPECT_TRUE(prints.insert(print_with(seen)).second) << seen;
  EXPECT_FALSE(prints.insert(print_with(kSize / 3)).second);
}

}  // namespace
}  // namespace foretoken
