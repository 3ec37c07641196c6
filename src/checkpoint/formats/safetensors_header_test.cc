#include "checkpoint/formats/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken::safetensors_header_test {
namespace {

using testing::HasSubstr;

std::vector<StoredTensor> parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "w.safetensors");
}

std::string fault_of(const std::string& bytes) {
  return error_of([&] { parse(bytes); });
}

// A file whose header has one entry "a" with this text and 8 bytes of data.
std::string fault_of_entry(const std::string& entry) {
  return fault_of(safetensors_bytes("{\"a\":" + entry + "}", std::string(8, '\0')));
}

TEST(SafetensorsHeader, lists_tensors_in_the_order_of_their_bytes) {
  const std::string bytes = safetensors_bytes(
      {test_tensor("b", {2, 3}), test_tensor("a", {4}), test_tensor("empty", {0, 5})});
  const auto tensors = parse(bytes);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "b");
  EXPECT_EQ(tensors[0].shape, Shape({2, 3}));
  EXPECT_EQ(tensors[0].dtype, DType::kF32);
  EXPECT_EQ(tensors[1].name, "a");
  EXPECT_EQ(tensors[1].offset, tensors[0].offset + 24);
  EXPECT_EQ(tensors[1].bytes, 16U);
  EXPECT_EQ(tensors[2].bytes, 0U);
}

TEST(SafetensorsHeader, any_number_of_tensors_may_be_empty) {
  std::vector<TestTensor> all;
  for (int i = 0; i < 200; ++i) all.push_back(test_tensor("t" + std::to_string(i), {0, 5}));
  const auto tensors = parse(safetensors_bytes(all));
  ASSERT_EQ(tensors.size(), all.size());
  for (const StoredTensor& tensor : tensors) EXPECT_EQ(tensor.bytes, 0U);
}

TEST(SafetensorsHeader, a_scalar_has_one_element) {
  const auto tensors = parse(safetensors_bytes({test_tensor("scalar", {})}));
  EXPECT_EQ(tensors[0].shape.rank(), 0);
  EXPECT_EQ(tensors[0].bytes, 4U);
}

TEST(SafetensorsHeader, refuses_a_file_shorter_than_its_length_field) {
  EXPECT_THAT(fault_of("abc"), HasSubstr("truncated safetensors file (w.safetensors)"));
  EXPECT_THAT(fault_of(""), HasSubstr("expected at least 8 bytes, found 0 bytes"));
}

TEST(SafetensorsHeader, refuses_a_header_that_does_not_fit) {
  std::string bytes = safetensors_bytes({test_tensor("a", {2})});
  bytes.resize(40);
  EXPECT_THAT(fault_of(bytes), HasSubstr("the header does not fit"));
  for (const int missing : {1, 8}) {  // it fits into the file, but not behind the length
    std::string least = safetensors_bytes("{}", "");
    least[0] = static_cast<char>(2 + missing);
    EXPECT_THAT(fault_of(least), HasSubstr("the header does not fit")) << missing;
  }
}

TEST(SafetensorsHeader, refuses_a_huge_header_before_reading_it) {
  std::string bytes(64, '\0');
  for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(0xff);
  EXPECT_THAT(fault_of(bytes), HasSubstr("header is too large"));
}

TEST(SafetensorsHeader, refuses_broken_json) {
  EXPECT_THAT(fault_of(safetensors_bytes("{\"a\":", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(fault_of(safetensors_bytes("[1]", "")), HasSubstr("expected an object"));
  EXPECT_THAT(fault_of(safetensors_bytes("", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(fault_of(safetensors_bytes(std::string(5000, '['), "")), HasSubstr("not valid JSON"));
}

TEST(SafetensorsHeader, refuses_two_tensors_of_one_name) {
  const std::string entry = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_THAT(fault_of(safetensors_bytes("{\"a\":" + entry + ",\"a\":" + entry + "}",
                                         std::string(8, '\0'))),
              HasSubstr("two entries of one name in the header (w.safetensors, tensor a)"));
  // Quotes and brackets inside names are not structure.
  EXPECT_EQ(fault_of(safetensors_bytes("{\"a\\\"}:{\":" + entry + "}", std::string(8, '\0'))), "");
}

// Who needs such a tensor finds out (MappedCheckpoint); what nobody reads may be of any type.
TEST(SafetensorsHeader, types_of_others_are_known_by_their_bytes_alone) {
  const std::string entry = R"({"a":{"dtype":"F4","shape":[4,4],"data_offsets":[0,8]}})";
  const auto tensors = parse(safetensors_bytes(entry, std::string(8, '\0')));
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].foreign_type, "F4");
  EXPECT_EQ(tensors[0].bytes, 8U);
  EXPECT_THAT(fault_of_entry(R"({"dtype":"U32","shape":[4],"data_offsets":[0,16]})"),
              HasSubstr("beyond the end of the file"));
}

TEST(SafetensorsHeader, refuses_absent_dtypes_and_bad_shapes) {
  EXPECT_THAT(fault_of_entry(R"({"shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("missing key \"dtype\""));
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
              HasSubstr("bad value of \"shape\""));
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"),
              HasSubstr("a list of sizes"));
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[1,1,1,1,1,2],"data_offsets":[0,8]})"),
              HasSubstr("at most 5 dimensions"));
  EXPECT_THAT(fault_of_entry("7"), HasSubstr("bad tensor entry"));
}

TEST(SafetensorsHeader, refuses_sizes_that_overflow) {
  EXPECT_THAT(
      fault_of_entry(
          R"({"dtype":"F32","shape":[281474976710656,281474976710656],"data_offsets":[0,8]})"),
      HasSubstr("a possible size"));
}

TEST(SafetensorsHeader, refuses_ranges_that_do_not_match_the_shape) {
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("expected 12 bytes for float32 [3], found 8 bytes at [0, 8)"));
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("begin <= end"));
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"),
              HasSubstr("begin <= end"));
}

TEST(SafetensorsHeader, refuses_tensors_beyond_the_end) {
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
              HasSubstr("tensor ends beyond the end of the file (truncated?) (w.safetensors, "
                        "tensor a): expected data within [0, 8), found [0, 16)"));
}

TEST(SafetensorsHeader, refuses_overlaps_gaps_and_left_over_bytes) {
  auto entry = [](int begin, int end) {
    return R"({"dtype":"F32","shape":[2],"data_offsets":[)" + std::to_string(begin) + "," +
           std::to_string(end) + "]}";
  };
  auto two = [&](const std::string& b) {
    return fault_of(
        safetensors_bytes("{\"a\":" + entry(0, 8) + ",\"b\":" + b + "}", std::string(16, '\0')));
  };
  EXPECT_EQ(two(entry(8, 16)), "");
  EXPECT_THAT(two(entry(4, 12)), HasSubstr("overlaps the one before it (w.safetensors, tensor b)"));
  EXPECT_THAT(two(entry(0, 8)), HasSubstr("overlaps"));
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"),
              HasSubstr("gap in the data"));
  EXPECT_THAT(fault_of_entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"),
              HasSubstr("bytes after the last tensor"));
}

// Whatever is done to a good file, the answer is an Error or tensors that lie inside the file.
TEST(SafetensorsHeader, mutated_files_never_crash_or_leave_the_file) {
  const std::string good = safetensors_bytes(
      {test_tensor("model.a", {2, 3}), test_tensor("b", {4}), test_tensor("c", {1, 1, 2})});
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    std::string bytes = good;
    const auto changes = 1 + mix_seed(seed, 0) % 4;
    for (std::uint64_t i = 1; i <= changes; ++i) {
      const std::uint64_t word = mix_seed(seed, i);
      // Mostly in the header, where it matters.
      const std::size_t reach =
          word % 8 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 250);
      if (reach == 0) break;
      const std::size_t at = (word >> 8) % reach;
      const auto value = static_cast<char>(word >> 40);
      switch ((word >> 3) % 5) {
        case 0:
          bytes[at] = value;
          break;
        case 1:
          bytes[at] = "0123456789{}[]\",:\\"[(word >> 40) % 18];
          break;
        case 2:
          bytes.erase(at, 1 + (word >> 50) % 8);
          break;
        case 3:
          bytes.insert(at, bytes.substr((word >> 30) % bytes.size(), (word >> 50) % 30));
          break;
        default:
          bytes.resize(at);
          break;
      }
    }
    try {
      for (const StoredTensor& tensor : parse(bytes)) {
        ASSERT_LE(tensor.offset, bytes.size());
        ASSERT_LE(tensor.bytes, bytes.size() - tensor.offset);
        if (!tensor.foreign_type.empty()) continue;
        ASSERT_EQ(tensor.bytes, Tensor(nullptr, tensor.dtype, tensor.shape).bytes());
      }
      ++accepted;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace foretoken::safetensors_header_test
