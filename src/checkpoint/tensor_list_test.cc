#include "checkpoint/tensor_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(TensorList, tensors_of_each_format_are_listed_with_their_types) {
  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("a", {2, 3})}));
  folder.write("m.gguf", GgufBytes()
                             .floats("b", {5}, {1, 2, 3, 4, 5})
                             .tensor("c", 16, {1, 256}, std::string(66, 'x'))
                             .bytes());
  const TensorList plain = list_tensors(folder.path());
  ASSERT_EQ(plain.tensors.size(), 1U);
  EXPECT_EQ(plain.format, "safetensors");
  EXPECT_EQ(plain.tensors[0].type, "float32");
  EXPECT_EQ(plain.tensors[0].elements, 6);
  const TensorList blocks = list_tensors(folder.path() + "/m.gguf");
  ASSERT_EQ(blocks.tensors.size(), 2U);
  EXPECT_EQ(blocks.format, "gguf");
  EXPECT_EQ(blocks.tensors[0].bytes, 20U);
  EXPECT_EQ(blocks.tensors[1].type, "IQ2_XXS");
  EXPECT_FALSE(blocks.tensors[1].is_read);
  const TestFolder empty;
  EXPECT_THAT(error_of([&] { list_tensors(empty.path()); }), HasSubstr("no weights"));
}

TEST(TensorList, names_of_a_gguf_file_are_those_that_the_decoder_asks_for) {
  const TestFolder folder;
  GgufBytes file = gguf_keys("llama").floats("blk.0.attn_q.weight", {2, 1}, {1, 2});
  file.floats("blk.2.nextn.eh_proj.weight", {2, 1}, {1, 2}).floats("other", {1}, {1});
  folder.write("m.gguf", file.bytes());
  EXPECT_THAT(source_names(folder.path() + "/m.gguf"),
              UnorderedElementsAre("model.layers.0.self_attn.q_proj.weight",
                                   "model.layers.2.eh_proj.weight", "other"));
  const TestFolder plain;
  plain.write("model.safetensors", safetensors_bytes({test_tensor("a", {2, 3})}));
  EXPECT_THAT(source_names(plain.path()), UnorderedElementsAre("a"));
}

}  // namespace
}  // namespace foretoken
