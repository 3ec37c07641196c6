#include "checkpoint/hub/hub_cache.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

std::string error_of(const std::string& model, const std::string& revision,
                     const std::string& cache) {
  try {
    find_checkpoint(model, revision, cache);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HubCache, a_folder_is_its_own_answer) {
  const TestFolder folder;
  EXPECT_EQ(find_checkpoint(folder.path(), "", "/nowhere"), folder.path());
}

TEST(HubCache, a_gguf_file_is_a_checkpoint_and_stands_for_its_folder) {
  const TestFolder cache;
  const auto first = cache.write("models/model-00001-of-00002.gguf", "GGUF");
  const auto second = cache.write("models/model-00002-of-00002.gguf", "GGUF");
  cache.write("models/mmproj-model.gguf", "GGUF");
  cache.write("models/config.json", "{}");
  EXPECT_EQ(find_checkpoint(second, "", "/nowhere"), second);
  EXPECT_EQ(find_checkpoint(cache.path() + "/models", "", "/nowhere"), first);
  cache.write("models/model.safetensors", "x");
  EXPECT_EQ(find_checkpoint(cache.path() + "/models", "", "/nowhere"), cache.path() + "/models");
  cache.write("models--owner--name/refs/main", "abc");
  const auto one = cache.write("models--owner--name/snapshots/abc/one.gguf", "GGUF");
  EXPECT_EQ(find_checkpoint("owner/name", "", cache.path()), one);
  cache.write("models--owner--name/snapshots/abc/two.gguf", "GGUF");
  EXPECT_NE(error_of("owner/name", "", cache.path()).find("found one.gguf, two.gguf"),
            std::string::npos);
}

TEST(HubCache, a_hub_id_resolves_through_its_reference) {
  const TestFolder cache;
  cache.write("models--owner--name/refs/main", "abc\n");
  cache.write("models--owner--name/refs/v1", "def");
  cache.write("models--owner--name/snapshots/abc/config.json", "{}");
  cache.write("models--owner--name/snapshots/def/config.json", "{}");
  const std::string snapshots = cache.path() + "/models--owner--name/snapshots/";
  EXPECT_EQ(find_checkpoint("owner/name", "", cache.path()), snapshots + "abc");
  EXPECT_EQ(find_checkpoint("owner/name", "v1", cache.path()), snapshots + "def");
  EXPECT_EQ(find_checkpoint("owner/name", "def", cache.path()), snapshots + "def");
}

TEST(HubCache, what_is_missing_is_named) {
  const TestFolder cache;
  cache.write("models--owner--name/refs/main", "abc");
  EXPECT_NE(error_of("owner/name", "", cache.path()).find("does not hold revision main"),
            std::string::npos);
  EXPECT_NE(error_of("owner/other", "", cache.path()).find("nothing is downloaded"),
            std::string::npos);
  EXPECT_EQ(error_of("/no/such/folder", "", cache.path()),
            "there is no checkpoint folder /no/such/folder (--model-path)");
  EXPECT_EQ(error_of("../x", "", cache.path()),
            "there is no checkpoint folder ../x (--model-path)");
  const auto file = cache.write("file.bin", "x");
  EXPECT_NE(error_of(file, "", cache.path()).find("found another file"), std::string::npos);
}

TEST(HubCache, a_token_map_is_a_file_here_or_in_the_cache) {
  const TestFolder cache;
  cache.write("models--owner--name/refs/main", "abc");
  const auto map = cache.write("models--owner--name/snapshots/abc/freq.pt", "x");
  EXPECT_EQ(find_token_map(map, "/nowhere"), map);
  EXPECT_EQ(find_token_map("owner/name/freq.pt", cache.path()), map);
  const auto fault = [&](const std::string& name) {
    try {
      find_token_map(name, cache.path());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(fault("owner/name/other.pt").find("snapshots/abc/other.pt in the local Hugging Face "),
            std::string::npos);
  EXPECT_NE(fault("/no/such/map.pt")
                .find("there is no token map /no/such/map.pt "
                      "(--speculative-token-map): expected a file, found none"),
            std::string::npos);
  EXPECT_NE(fault("").find("there is no token map"), std::string::npos);
}

}  // namespace
}  // namespace foretoken
