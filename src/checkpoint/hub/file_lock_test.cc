#include "checkpoint/hub/file_lock.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(FileLock, one_at_a_time_also_where_the_file_is_removed_meanwhile) {
  const TestFolder folder;
  const std::string path = folder.path() + "/locks/a.lock";
  for (const bool is_removed : {false, true}) {
    auto first = std::make_unique<FileLock>(path, [] { FAIL(); });
    std::promise<void> waits;
    std::atomic<bool> has_it = false;
    auto second = std::async(std::launch::async, [&] {
      const FileLock lock(path, [&] { waits.set_value(); });
      has_it = true;
      EXPECT_TRUE(std::filesystem::exists(path));
    });
    waits.get_future().wait();
    EXPECT_FALSE(has_it);
    if (is_removed) std::filesystem::remove(path);
    first.reset();
    second.get();
  }
}

TEST(FileLock, a_place_without_a_folder_is_refused) {
  const TestFolder folder;
  const auto file = folder.write("file", "x");
  EXPECT_THROW(FileLock(file + "/a.lock", {}), Error);
}

}  // namespace
}  // namespace foretoken
