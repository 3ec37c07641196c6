#include "checkpoint/formats/gguf/gguf_types.h"

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"

namespace foretoken {
namespace {

// What gguf-py made of random blocks (tools/golden/make_gguf_blocks.py).
struct Golden {
  const GgufTypeInfo* type;
  std::string blocks;
  std::vector<float> floats;
};

std::vector<Golden> goldens() {
  const std::string file = read_file(FORETOKEN_SOURCE_DIR "/tests/golden/gguf/blocks.bin").value();
  std::vector<Golden> all;
  for (std::size_t at = 0; at < file.size();) {
    std::uint32_t head[4];
    std::memcpy(head, file.data() + at, sizeof head);
    at += sizeof head;
    Golden golden{gguf_type(head[0]), file.substr(at, head[2]), std::vector<float>(head[1])};
    at += head[2];
    std::memcpy(golden.floats.data(), file.data() + at, 4 * golden.floats.size());
    at += 4 * golden.floats.size();
    all.push_back(std::move(golden));
  }
  return all;
}

TEST(GgufTypes, blocks_become_the_floats_of_the_reference_bit_for_bit) {
  std::set<std::string_view> seen;
  for (const Golden& golden : goldens()) {
    ASSERT_NE(golden.type, nullptr);
    const auto count = static_cast<std::int64_t>(golden.floats.size());
    ASSERT_EQ(static_cast<std::size_t>(golden.type->bytes_of(count)), golden.blocks.size());
    std::vector<float> made(golden.floats.size());
    golden.type->dequantize(reinterpret_cast<const std::byte*>(golden.blocks.data()), count,
                            made.data());
    for (std::size_t i = 0; i < made.size(); ++i)
      ASSERT_EQ(made[i], golden.floats[i]) << golden.type->name << ", element " << i;
    seen.insert(golden.type->name);
  }
  for (std::uint32_t number = 0; number < 100; ++number)
    if (const GgufTypeInfo* type = gguf_type(number); type != nullptr && type->is_read()) {
      EXPECT_TRUE(seen.contains(type->name)) << "no blocks of " << type->name;
    }
}

TEST(GgufTypes, types_that_are_not_read_have_names) {
  EXPECT_EQ(gguf_type(99), nullptr);
  EXPECT_EQ(gguf_type(16)->name, "IQ2_XXS");
  EXPECT_FALSE(gguf_type(16)->is_read());
  EXPECT_TRUE(gguf_type(12)->is_read());
  EXPECT_NE(gguf_types_read().find("IQ4_XS"), std::string_view::npos);
  EXPECT_EQ(gguf_types_read().find("IQ2_XXS"), std::string_view::npos);
}

}  // namespace
}  // namespace foretoken
