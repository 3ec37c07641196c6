#include "checkpoint/formats/gguf/gguf_header.h"

#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/gguf_bytes.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The bytes in a block of exactly their size: the sanitizer guards its end.
class File {
 public:
  explicit File(const std::string& bytes)
      : bytes_(new std::byte[bytes.size()]), size_(bytes.size()) {
    std::memcpy(bytes_.get(), bytes.data(), size_);
  }
  GgufHeader parse() const { return parse_gguf({bytes_.get(), size_}, "file"); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_;
};

std::string fault_of(const std::string& bytes) {
  const File file(bytes);
  return error_of([&] { file.parse(); });
}

GgufBytes two_tensors() {
  GgufBytes file;
  file.text("general.architecture", "llama").u32("llama.block_count", 3).f32("llama.eps", 0.5F);
  file.boolean("tokenizer.ggml.add_bos_token", true);
  file.texts("tokenizer.ggml.tokens", {"a", "", "ccc"}).i32s("types", {1, -2}).f32s("scores", {});
  file.floats("first", {2, 3}, {1, 2, 3, 4, 5, 6});
  file.tensor("second", 8, {2, 64}, std::string(136, 'x'));
  return file;
}

TEST(GgufHeader, keys_and_tensors_are_read) {
  for (const std::uint32_t version : {2U, 3U}) {
    const File file(two_tensors().bytes(version));
    const GgufHeader header = file.parse();
    const GgufMetadata& metadata = header.metadata;
    EXPECT_EQ(metadata.text("general.architecture"), "llama");
    EXPECT_EQ(metadata.integer("llama.block_count"), 3);
    EXPECT_EQ(metadata.number("llama.eps"), 0.5);
    EXPECT_EQ(metadata.number("llama.block_count"), 3.0);
    EXPECT_EQ(metadata.boolean("tokenizer.ggml.add_bos_token"), true);
    EXPECT_THAT(metadata.texts("tokenizer.ggml.tokens"), ElementsAre("a", "", "ccc"));
    EXPECT_THAT(metadata.integers("types"), ElementsAre(1, -2));
    EXPECT_EQ(metadata.greatest("types"), 1);
    EXPECT_EQ(metadata.greatest("llama.block_count"), 3);
    EXPECT_EQ(metadata.greatest("absent"), std::nullopt);
    EXPECT_THAT(metadata.booleans("tokenizer.ggml.add_bos_token"), ElementsAre(true));
    EXPECT_TRUE(metadata.booleans("absent").empty());
    EXPECT_TRUE(metadata.numbers("scores").empty());
    EXPECT_EQ(metadata.integer("absent"), std::nullopt);
    ASSERT_EQ(header.tensors.size(), 2U);
    EXPECT_EQ(header.tensors[0].shape, (Shape{2, 3}));
    EXPECT_EQ(header.tensors[0].bytes, 24U);
    EXPECT_EQ(header.tensors[1].type->name, "Q8_0");
    EXPECT_EQ(header.tensors[1].bytes, 136U);
    EXPECT_EQ(header.tensors[1].offset, header.tensors[0].offset + 32);
  }
}

TEST(GgufHeader, a_value_of_another_type_is_refused_by_its_key) {
  const File file(two_tensors().bytes());
  const GgufHeader header = file.parse();
  EXPECT_EQ(error_of([&] { (void)header.metadata.integer("llama.eps"); }),
            "wrong value in the GGUF file's metadata (file, key llama.eps): expected an integer "
            "below 2^63, found a number");
  EXPECT_THAT(error_of([&] { (void)header.metadata.text("types"); }),
              HasSubstr("found a list of which each is an integer"));
  EXPECT_THAT(error_of([&] { (void)header.metadata.booleans("types"); }),
              HasSubstr("key types): expected booleans"));
  EXPECT_THAT(error_of([&] { (void)header.metadata.integers("tokenizer.ggml.tokens"); }),
              HasSubstr("key tokenizer.ggml.tokens): expected integers"));
}

TEST(GgufHeader, a_file_cut_short_is_told_from_a_wrong_one) {
  const std::string whole = two_tensors().bytes();
  for (std::size_t length = 4; length < whole.size(); ++length)
    EXPECT_THAT(fault_of(whole.substr(0, length)), HasSubstr("the download is not complete"))
        << length;
  EXPECT_EQ(fault_of(whole.substr(0, whole.size() - 36)),
            "the GGUF file is cut short: the download is not complete (file): expected " +
                std::to_string(whole.size()) + " bytes, found " +
                std::to_string(whole.size() - 36) + " bytes");
  EXPECT_THAT(fault_of("{}"), HasSubstr("not a GGUF file"));
  EXPECT_THAT(fault_of(two_tensors().offset_of_last(1 << 20).bytes()),
              HasSubstr("tensor second): expected data within"));
}

TEST(GgufHeader, other_versions_and_byte_orders_are_named) {
  EXPECT_THAT(fault_of(two_tensors().bytes(1)), HasSubstr("its version is not read"));
  EXPECT_THAT(fault_of(two_tensors().bytes(4)), HasSubstr("found 4"));
  EXPECT_THAT(fault_of(two_tensors().bytes(3U << 24)), HasSubstr("found 3, big-endian"));
}

TEST(GgufHeader, hostile_counts_and_lengths_are_refused_before_they_are_believed) {
  const auto header = [](std::uint64_t tensors, std::uint64_t keys, const std::string& rest) {
    return "GGUF" + GgufBytes::number(3U) + GgufBytes::number(tensors) + GgufBytes::number(keys) +
           rest;
  };
  constexpr std::uint64_t kMany = std::uint64_t{1} << 60;
  EXPECT_THAT(fault_of(header(kMany, 0, "")), HasSubstr("an impossible number of tensors"));
  EXPECT_THAT(fault_of(header(0, ~0ULL, "")), HasSubstr("an impossible number of keys"));
  EXPECT_THAT(fault_of(header(0, 1000, "")), HasSubstr("ends inside its header"));
  EXPECT_THAT(fault_of(header(0, 1, GgufBytes::number(kMany))), HasSubstr("impossible length"));
  const auto list = [](std::uint32_t type, std::uint64_t count) {
    return GgufBytes().raw("k", 9, GgufBytes::number(type) + GgufBytes::number(count)).bytes();
  };
  EXPECT_THAT(fault_of(list(8, kMany)), HasSubstr("key k has an impossible length"));
  EXPECT_THAT(fault_of(list(10, ~0ULL)), HasSubstr("key k has an impossible length"));
  EXPECT_THAT(fault_of(list(8, 1 << 30)), HasSubstr("ends inside its header"));
  EXPECT_THAT(fault_of(list(9, 1)), HasSubstr("a list of lists"));
  EXPECT_THAT(fault_of(list(13, 1)), HasSubstr("unknown type"));
  EXPECT_THAT(fault_of(GgufBytes().raw("k", 77, "").bytes()), HasSubstr("found 77"));
  EXPECT_THAT(fault_of(GgufBytes().u32("k", 1).u32("k", 1).bytes()),
              HasSubstr("two values of one key"));
}

TEST(GgufHeader, tensors_that_cannot_be_are_refused_by_name) {
  const auto fault = [](std::uint32_t type, const std::vector<std::int64_t>& shape) {
    return fault_of(GgufBytes().tensor("t", type, shape, std::string(64, 'x')).bytes());
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  EXPECT_THAT(fault(0, {kHuge}), HasSubstr("tensor t has an impossible size"));
  EXPECT_THAT(fault(0, {1LL << 40, 1LL << 40}), HasSubstr("tensor t is impossibly large"));
  EXPECT_THAT(fault(0, {-1}), HasSubstr("tensor t has an impossible size"));
  EXPECT_THAT(fault(0, {0}), HasSubstr("tensor t has an impossible size"));
  EXPECT_THAT(fault(0, {}), HasSubstr("bad number of dimensions"));
  EXPECT_THAT(fault(0, {1, 1, 1, 1, 1}), HasSubstr("bad number of dimensions"));
  EXPECT_THAT(fault(12, {2, 128}), HasSubstr("whole blocks of 256 elements (Q4_K)"));
  EXPECT_THAT(fault(99, {1}), HasSubstr("found type 99"));
  EXPECT_THAT(fault(31, {32}), HasSubstr("found Q4_0_4_4"));
  GgufBytes twice;
  twice.floats("t", {1}, {1}).floats("t", {1}, {1});
  EXPECT_THAT(fault_of(twice.bytes()), HasSubstr("two tensors of one name"));
  EXPECT_THAT(fault_of(two_tensors().offset_of_last(0).bytes()), HasSubstr("overlaps"));
  EXPECT_THAT(fault_of(two_tensors().offset_of_last(33).bytes()), HasSubstr("not aligned"));
  EXPECT_THAT(fault_of(two_tensors().offset_of_last(~0ULL).bytes()),
              HasSubstr("impossible offset"));
}

TEST(GgufHeader, the_alignment_is_a_power_of_two) {
  for (const std::uint32_t bad : {0U, 3U, 1U << 31})
    EXPECT_THAT(fault_of(GgufBytes().u32("general.alignment", bad).bytes()),
                HasSubstr("key general.alignment): expected a power of 2"));
}

}  // namespace
}  // namespace foretoken
