#include "checkpoint/token_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kVocab = 70001;

std::string saved(const std::string& name) {
  return FORETOKEN_SOURCE_DIR "/tests/golden/torch/" + name;
}

TEST(TokenMap, lists_and_tensors_of_torch_are_read) {
  for (const char* name : {"map_list.pt", "map_list_legacy.pt", "map_tensor.pt",
                           "map_tensor_i32.pt", "map_tensor_strided.pt"})
    EXPECT_THAT(read_token_map(saved(name), kVocab), ElementsAre(5, 3, 70000, 0)) << name;
}

TEST(TokenMap, a_json_list_is_read) {
  const TestFolder folder;
  folder.write("map.json", " [5, 3, 0]");
  folder.write("map.txt", "[1]");
  EXPECT_THAT(read_token_map(folder.path() + "/map.json", 6), ElementsAre(5, 3, 0));
  EXPECT_THAT(read_token_map(folder.path() + "/map.txt", 6), ElementsAre(1));
}

std::string fault_of(const std::string& path, std::int64_t vocab = kVocab) {
  return error_of([&] { read_token_map(path, vocab); });
}

std::string fault_of_json(const std::string& text) {
  const TestFolder folder;
  folder.write("map.json", text);
  return fault_of(folder.path() + "/map.json", 10);
}

TEST(TokenMap, what_is_no_list_of_ids_is_refused) {
  EXPECT_THAT(fault_of(saved("checkpoint.bin")),
              HasSubstr("expected a list or a one-dimensional tensor of token ids, found a "
                        "dictionary"));
  EXPECT_THAT(fault_of(saved("command.bin")), HasSubstr("__builtin__.print"));
  EXPECT_THAT(fault_of_json("{}"), HasSubstr("found other JSON"));
  EXPECT_THAT(fault_of_json("[1"), HasSubstr("not valid JSON"));
  EXPECT_THAT(fault_of_json("[1, 2.5]"), HasSubstr("a list with other JSON in it"));
  EXPECT_THAT(fault_of_json("[]"), HasSubstr("found an empty one"));
  EXPECT_THAT(fault_of_json(""), HasSubstr("not a PyTorch file"));
  EXPECT_THAT(fault_of("/no/such/map.pt"), HasSubstr("cannot open file (/no/such/map.pt)"));
}

TEST(TokenMap, ids_outside_the_vocabulary_and_repeated_ids_are_refused) {
  EXPECT_THAT(fault_of(saved("map_list.pt"), 70000),
              HasSubstr("map_list.pt, entry 2): expected ids from 0 to 69999, found 70000"));
  EXPECT_THAT(fault_of_json("[-1]"), HasSubstr("found -1"));
  EXPECT_THAT(fault_of_json("[1, 2, 1]"),
              AllOf(HasSubstr("names a token twice"), HasSubstr("entry 2"), HasSubstr("found 1")));
}

}  // namespace
}  // namespace foretoken
