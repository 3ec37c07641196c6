#include "checkpoint/hub/model_finder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

// Of a cache, without a network.
ModelFinder finder(const std::string& cache) {
  static PullWatcher nobody;
  HubSettings settings;
  settings.cache = cache;
  settings.offline = true;
  return {settings, nobody};
}

std::string path_of(const std::string& model, const std::string& revision,
                    const std::string& cache) {
  try {
    return finder(cache).checkpoint(model, revision);
  } catch (const Error& error) {
    return error.what();
  }
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ModelFinder, a_folder_is_its_own_answer) {
  const TestFolder folder;
  EXPECT_EQ(path_of(folder.path(), "", "/nowhere"), folder.path());
}

TEST(ModelFinder, a_gguf_file_is_a_checkpoint_and_stands_for_its_folder) {
  const TestFolder folder;
  const auto first = folder.write("models/model-00001-of-00002.gguf", "GGUF");
  const auto second = folder.write("models/model-00002-of-00002.gguf", "GGUF");
  folder.write("models/mmproj-model.gguf", "GGUF");
  folder.write("models/config.json", "{}");
  EXPECT_EQ(path_of(second, "", "/nowhere"), second);
  EXPECT_EQ(path_of(folder.path() + "/models", "", "/nowhere"), first);
  folder.write("models/model.safetensors", "x");
  EXPECT_EQ(path_of(folder.path() + "/models", "", "/nowhere"), folder.path() + "/models");
}

TEST(ModelFinder, a_name_resolves_through_its_reference) {
  const TestFolder cache;
  cache.write("models--owner--name/refs/main", "abc\n");
  cache.write("models--owner--name/refs/v1", "def");
  for (const std::string commit : {"abc", "def"})
    for (const std::string file : {"config.json", "model.safetensors"})
      cache.write("models--owner--name/snapshots/" + commit + "/" + file, "{}");
  const std::string snapshots = cache.path() + "/models--owner--name/snapshots/";
  EXPECT_EQ(path_of("owner/name", "", cache.path()), snapshots + "abc");
  EXPECT_EQ(path_of("owner/name", "v1", cache.path()), snapshots + "def");
  EXPECT_EQ(path_of("owner/name", "def", cache.path()), snapshots + "def");
}

TEST(ModelFinder, a_quantization_of_the_cache_is_found) {
  const TestFolder cache;
  cache.write("models--o--n/refs/main", "abc");
  const std::string snapshot = "models--o--n/snapshots/abc/";
  const auto eight = cache.write(snapshot + "n-Q8_0.gguf", "GGUF");
  EXPECT_EQ(path_of("o/n", "", cache.path()), eight);  // the only one there is
  EXPECT_TRUE(holds(path_of("o/n:Q4_0", "", cache.path()), "no quantization Q4_0"));
  const auto four = cache.write(snapshot + "four/n-Q4_K_M-00001-of-00002.gguf", "GGUF");
  EXPECT_EQ(path_of("o/n:q8_0", "", cache.path()), eight);
  EXPECT_TRUE(holds(path_of("o/n", "", cache.path()), "missing part"));
  cache.write(snapshot + "four/n-Q4_K_M-00002-of-00002.gguf", "GGUF");
  EXPECT_EQ(path_of("o/n", "", cache.path()), four);
  EXPECT_EQ(path_of("o/n/n-Q8_0.gguf", "", cache.path()), eight);
}

TEST(ModelFinder, half_a_model_of_the_cache_is_none) {
  const TestFolder cache;
  cache.write("models--o--n/refs/main", "abc");
  const std::string snapshot = "models--o--n/snapshots/abc/";
  cache.write(snapshot + "config.json", "{}");
  EXPECT_TRUE(holds(path_of("o/n", "", cache.path()), "there are no weights"));
  cache.write(snapshot + "model.safetensors.index.json",
              R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  cache.write(snapshot + "model-1.safetensors", "x");
  EXPECT_TRUE(holds(path_of("o/n", "", cache.path()), "lacks model-2.safetensors"));
  cache.write(snapshot + "model-2.safetensors", "x");
  EXPECT_EQ(path_of("o/n", "", cache.path()), cache.path() + "/models--o--n/snapshots/abc");
}

TEST(ModelFinder, what_is_missing_is_named) {
  const TestFolder cache;
  cache.write("models--owner--name/refs/main", "abc");
  EXPECT_TRUE(holds(path_of("owner/name", "", cache.path()), "does not hold revision main"));
  EXPECT_TRUE(holds(path_of("owner/other", "", cache.path()), "nothing is downloaded"));
  EXPECT_EQ(path_of("/no/such/folder", "", cache.path()),
            "there is no checkpoint folder /no/such/folder (--model-path)");
  EXPECT_EQ(path_of("../x", "", cache.path()), "there is no checkpoint folder ../x (--model-path)");
  EXPECT_TRUE(holds(path_of("owner/name", "../../x", cache.path()), "bad name of a revision"));
  const auto file = cache.write("file.bin", "x");
  EXPECT_TRUE(holds(path_of(file, "", cache.path()), "found another file"));
}

TEST(ModelFinder, a_token_map_is_a_file_here_or_in_the_cache) {
  const TestFolder cache;
  cache.write("models--owner--name/refs/main", "abc");
  const auto map = cache.write("models--owner--name/snapshots/abc/freq.pt", "x");
  const auto find_map = [&](const std::string& name) {
    try {
      return finder(cache.path()).file(name, "token map", "--map");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(find_map(map), map);
  EXPECT_EQ(find_map("owner/name/freq.pt"), map);
  EXPECT_TRUE(holds(find_map("owner/name/other.pt"), "snapshots/abc/other.pt"));
  EXPECT_TRUE(holds(find_map("/no/such/map.pt"), "there is no token map /no/such/map.pt (--map)"));
  EXPECT_TRUE(holds(find_map(""), "there is no token map"));
}

}  // namespace
}  // namespace foretoken
