// Tensors of a GGUF file under the decoder's names: floats as they are stored, blocks as floats.

#include "checkpoint/gguf_checkpoint.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/gguf_models.h"

namespace foretoken::gguf_checkpoint_test {
namespace {

constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ8 = 8, kBF16 = 30;  // GgufType
constexpr std::int64_t kWidth = 64, kRows = 288;

std::string file_with(std::uint32_t type, std::string_view bytes) {
  GgufBytes file = gguf_keys("llama");
  add_byte_level(file, "default");
  return file.tensor("token_embd.weight", type, {kRows, kWidth}, bytes).bytes();
}

TEST(GgufCheckpoint, floats_keep_their_type_and_blocks_become_floats) {
  const TestFolder folder;
  const Shape shape{kRows, kWidth};
  const auto size = static_cast<std::size_t>(kRows * kWidth);
  struct Case {
    std::uint32_t type;
    std::size_t bytes;
    DType dtype;
  };
  for (const Case& given :
       {Case{kF32, 4 * size, DType::kF32}, Case{kF16, 2 * size, DType::kF16},
        Case{kBF16, 2 * size, DType::kBF16}, Case{kQ8, size / 32 * 34, DType::kF32}}) {
    folder.write("m.gguf", file_with(given.type, std::string(given.bytes, '\0')));
    const GgufCheckpoint checkpoint(folder.path() + "/m.gguf", false);
    const auto found = checkpoint.find("model.embed_tokens.weight", shape);
    ASSERT_TRUE(found) << given.type;
    EXPECT_EQ(found->dtype(), given.dtype) << given.type;
    EXPECT_EQ(found->shape(), shape);
    EXPECT_EQ(checkpoint.find("model.layers.7.no_such.weight", shape), std::nullopt);
  }
}

}  // namespace
}  // namespace foretoken::gguf_checkpoint_test
