#include "checkpoint/formats/torch_file.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Written by tools/golden/make_torch_files.py.
std::string saved(const std::string& name) {
  return FORETOKEN_SOURCE_DIR "/tests/golden/torch/" + name;
}

std::vector<StoredTensor> tensors_of(const std::string& name) {
  const MappedFile file(saved(name));
  return parse_torch_checkpoint(file.bytes(), name);
}

std::string fault_of(const std::string& name) {
  return error_of([&] { tensors_of(name); });
}

// A float32 tensor's values in the order of its shape, which has at most two dimensions.
std::vector<float> values(const MappedFile& file, const StoredTensor& tensor) {
  EXPECT_EQ(tensor.dtype, DType::kF32);
  const std::int64_t rows = tensor.shape.rank() == 2 ? tensor.shape[0] : 1;
  const std::int64_t columns = tensor.shape.elements() / std::max<std::int64_t>(rows, 1);
  const auto strides = tensor.strides.empty()     ? std::vector<std::int64_t>{columns, 1}
                       : tensor.shape.rank() == 1 ? std::vector<std::int64_t>{0, tensor.strides[0]}
                                                  : tensor.strides;
  std::vector<float> found;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto element = static_cast<std::size_t>(row * strides[0] + column * strides[1]);
      EXPECT_LE((element + 1) * sizeof(float), tensor.bytes);
      std::memcpy(&found.emplace_back(),
                  file.bytes().data() + tensor.offset + element * sizeof(float), sizeof(float));
    }
  return found;
}

class EveryFormat : public testing::TestWithParam<const char*> {};

TEST_P(EveryFormat, gives_names_types_and_shapes) {
  std::vector<std::string> found;
  for (const StoredTensor& tensor : tensors_of(GetParam()))
    found.push_back(tensor.name + " " + std::string(dtype_name(tensor.dtype)) + " " +
                    tensor.shape.str());
  EXPECT_THAT(found, ElementsAre("f32 float32 [2, 3]", "bf16 bfloat16 [3, 2]", "f16 float16 [5]",
                                 "i64 int64 [4]", "i32 int32 [4]", "mask bool [3]",
                                 "scalar float32 []", "empty float32 [0, 3]",
                                 "parameter float32 [2, 2]", "transposed float32 [3, 2]",
                                 "rows_from_1 float32 [3, 3]", "column_1 float32 [4]"));
}

TEST_P(EveryFormat, gives_the_values_of_dense_and_strided_tensors) {
  const MappedFile file(saved(GetParam()));
  std::map<std::string, std::vector<float>> found;
  for (const StoredTensor& tensor : parse_torch_checkpoint(file.bytes(), "file"))
    if (tensor.dtype == DType::kF32) found.emplace(tensor.name, values(file, tensor));
  EXPECT_THAT(found["f32"], ElementsAre(0, 0.125F, 0.25F, 0.375F, 0.5F, 0.625F));
  EXPECT_THAT(found["scalar"], ElementsAre(1.5F));
  EXPECT_THAT(found["empty"], ElementsAre());
  EXPECT_THAT(found["parameter"], ElementsAre(0, 0.125F, 0.25F, 0.375F));
  EXPECT_THAT(found["transposed"], ElementsAre(0, 0.375F, 0.125F, 0.5F, 0.25F, 0.625F));
  EXPECT_THAT(found["rows_from_1"],
              ElementsAre(0.375F, 0.5F, 0.625F, 0.75F, 0.875F, 1, 1.125F, 1.25F, 1.375F));
  EXPECT_THAT(found["column_1"], ElementsAre(0.125F, 0.5F, 0.875F, 1.25F));
}

INSTANTIATE_TEST_SUITE_P(TorchFile, EveryFormat,
                         testing::Values("checkpoint.bin", "checkpoint_legacy.bin",
                                         "checkpoint_protocol4.bin"));

TEST(TorchFile, attributes_of_a_state_dictionary_are_passed_over) {
  const auto tensors = tensors_of("state_dict.bin");
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "weight");
  EXPECT_EQ(tensors[1].name, "bias");
}

TEST(TorchFile, a_file_that_calls_something_is_refused_by_its_name) {
  for (const char* name : {"command.bin", "command_legacy.bin"})
    EXPECT_THAT(fault_of(name), AllOf(HasSubstr(name), HasSubstr("asks for code that is not data"),
                                      HasSubstr("__builtin__.print (nothing was executed)")));
}

TEST(TorchFile, entries_that_are_no_tensors_are_refused) {
  EXPECT_THAT(fault_of("not_tensors.bin"),
              HasSubstr("entry is not a tensor (not_tensors.bin, tensor step): expected a tensor, "
                        "found an integer"));
  EXPECT_THAT(fault_of("map_list.pt"),
              HasSubstr("expected a dictionary of named tensors, found a list"));
}

TEST(TorchFile, a_tensor_larger_than_its_storage_is_refused) {
  EXPECT_THAT(fault_of("repeated.bin"), HasSubstr("tensor is not inside its storage"));
}

// "column_1" of checkpoint_legacy.bin, every third value, with two of its four sizes left.
TEST(TorchFile, two_values_that_do_not_lie_side_by_side_are_strided) {
  std::string bytes = read_file(saved("checkpoint_legacy.bin")).value();
  const std::size_t at = bytes.find("K\4\x85", bytes.find("column_1"));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = 2;
  const auto tensors = parse_torch_checkpoint(std::as_bytes(std::span(bytes)), "file");
  const auto column = std::ranges::find(tensors, "column_1", &StoredTensor::name);
  ASSERT_NE(column, tensors.end());
  EXPECT_EQ(column->shape, Shape({2}));
  EXPECT_THAT(column->strides, ElementsAre(3));
}

std::string fault_of_bytes(std::string_view bytes) {
  return error_of([&] { TorchFile(std::as_bytes(std::span(bytes)), "file"); });
}

// 6 values behind their number end the file.
TEST(TorchFile, a_storage_that_does_not_fit_is_refused_with_its_size) {
  std::string bytes = read_file(saved("checkpoint_legacy.bin")).value();
  char& second_byte = bytes[bytes.size() - 6 * sizeof(float) - 7];
  ASSERT_EQ((&second_byte)[-1], 6);
  second_byte = 3;
  EXPECT_THAT(fault_of_bytes(bytes), HasSubstr("expected 774 elements, found 32 bytes"));
}

TEST(TorchFile, other_files_are_refused) {
  EXPECT_THAT(fault_of_bytes(""), HasSubstr("not a PyTorch file"));
  EXPECT_THAT(fault_of_bytes("version https://git-lfs.github.com/spec/v1"),
              HasSubstr("not a PyTorch file"));
  EXPECT_THAT(fault_of_bytes(std::string("PK\3\4") + std::string(40, 'x')),
              HasSubstr("it has no directory at its end"));
}

}  // namespace
}  // namespace foretoken
