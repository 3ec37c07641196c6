#include "checkpoint/hub/gguf_magic.h"

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(GgufMagic, a_file_is_known_by_its_first_bytes) {
  const TestFolder folder;
  folder.write("model.gguf", std::string("GGUF\3\0\0\0", 8));
  folder.write("short", "GGU");
  folder.write("other.gguf", "{}{}{}");
  EXPECT_TRUE(is_gguf(folder.path() + "/model.gguf"));
  EXPECT_FALSE(is_gguf(folder.path() + "/short"));
  EXPECT_FALSE(is_gguf(folder.path() + "/other.gguf"));
  EXPECT_FALSE(is_gguf(folder.path() + "/missing"));
  EXPECT_FALSE(is_gguf(folder.path()));
  EXPECT_TRUE(holds_gguf(folder.path()));
}

TEST(GgufMagic, a_folder_without_one_holds_none) {
  const TestFolder folder;
  folder.write("other.gguf", "{}{}{}");
  EXPECT_FALSE(holds_gguf(folder.path()));
  EXPECT_FALSE(holds_gguf(folder.path() + "/missing"));
}

}  // namespace
}  // namespace foretoken
