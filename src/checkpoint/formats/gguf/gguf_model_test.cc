#include "checkpoint/formats/gguf/gguf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/test_folder.h"
#include "checkpoint/formats/gguf/gguf_parts.h"
#include "checkpoint/formats/gguf/gguf_rows.h"
#include "checkpoint/testing/gguf_bytes.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GgufBytes part(std::uint32_t number, std::uint32_t count) {
  GgufBytes file;
  return file.u32("split.no", number).u32("split.count", count);
}

TEST(GgufModel, parts_of_a_split_model_are_found_by_any_of_them) {
  const TestFolder folder;
  const std::string first = folder.path() + "/m-00001-of-00002.gguf";
  const std::string second = folder.path() + "/m-00002-of-00002.gguf";
  folder.write("m-00001-of-00002.gguf", part(0, 2)
                                            .u32("split.tensors.count", 2)
                                            .text("general.architecture", "llama")
                                            .floats("a", {2}, {1, 2})
                                            .bytes());
  EXPECT_THAT(error_of([&] { GgufModel{first}; }),
              HasSubstr("part of the split GGUF model is missing (" + second));
  folder.write("m-00002-of-00002.gguf", part(1, 2).floats("b", {1, 1}, {7}).bytes());
  for (const std::string& path : {first, second}) {
    const GgufModel model(path);
    EXPECT_EQ(model.parts(), 2U);
    EXPECT_EQ(model.metadata().text("general.architecture"), "llama");
    float value = 0;
    model.find("b")->type->dequantize(model.find("b")->row(0), 1, &value);
    EXPECT_EQ(value, 7.0F);
  }
  folder.write("m-00002-of-00002.gguf", part(1, 2).floats("a", {1, 1}, {7}).bytes());
  EXPECT_THAT(error_of([&] { GgufModel{first}; }), HasSubstr("hold one tensor"));
  folder.write("m-00002-of-00002.gguf", part(0, 2).floats("b", {1, 1}, {7}).bytes());
  EXPECT_THAT(error_of([&] { GgufModel{first}; }), HasSubstr("key split.no): expected 1"));
  folder.write("m-00002-of-00002.gguf", part(1, 2).bytes());
  EXPECT_THAT(error_of([&] { GgufModel{first}; }), HasSubstr("key split.tensors.count"));
  const std::string second_part = part(1, 2).floats("b", {1, 1}, {7}).bytes();
  folder.write("m-00002-of-00002.gguf", second_part);
  folder.write("m-00001-of-00002.gguf", part(1, 2).floats("a", {2}, {1, 2}).bytes());
  EXPECT_THAT(error_of([&] { GgufModel{first}; }), HasSubstr("key split.no): expected 0"));
  folder.write("m-00001-of-00002.gguf", part(0, 3).floats("a", {2}, {1, 2}).bytes());
  EXPECT_THAT(error_of([&] { GgufModel{first}; }), HasSubstr("key split.count): expected 2"));
  folder.write("one.gguf", part(0, 2).bytes());
  EXPECT_THAT(error_of([&] { GgufModel{folder.path() + "/one.gguf"}; }),
              HasSubstr("has no number in its name"));
}

TEST(GgufParts, names_of_parts_have_two_numbers_of_five_digits) {
  const auto part = part_of("/x/model-00002-of-00013.gguf");
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->prefix, "/x/model");
  EXPECT_EQ(part->number, 2U);
  EXPECT_EQ(part->path_of(13), "/x/model-00013-of-00013.gguf");
  for (const char* other :
       {"model.gguf", "model-00003-of-00002.gguf", "model-00000-of-00002.gguf",
        "model-0001-of-00002.gguf", "-00001-of-00002.gguf", "model-00001-of-00002.bin",
        "model-0000x-of-00002.gguf", "model_00001-of-00002.gguf"})
    EXPECT_FALSE(part_of(other)) << other;
}

TEST(GgufParts, files_are_known_by_their_first_bytes) {
  const TestFolder folder;
  folder.write("model", "GGUF\3");
  folder.write("short.gguf", "GGU");
  EXPECT_TRUE(is_gguf(folder.path() + "/model"));
  EXPECT_FALSE(is_gguf(folder.path() + "/short.gguf"));
  EXPECT_FALSE(is_gguf(folder.path() + "/none"));
  EXPECT_FALSE(is_gguf(folder.path()));
  const std::string pipe = folder.path() + "/pipe.gguf";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(is_gguf(pipe)) << "it would wait for its writer";
  EXPECT_EQ(gguf_model_of(folder.path()), std::nullopt);
  EXPECT_EQ(gguf_model_of(folder.path() + "/none"), std::nullopt);
}

// Two heads of four rows: the file has rows 0 2 1 3 of each, by the writer's reordering.
TEST(GgufRows, rows_of_pairs_come_in_the_order_of_halves) {
  const TestFolder folder;
  folder.write("m.gguf", GgufBytes()
                             .floats("q", {8, 1}, {0, 2, 1, 3, 4, 6, 5, 7})
                             .floats("b", {8}, {0, 2, 1, 3, 4, 6, 5, 7})
                             .bytes());
  const GgufModel model(folder.path() + "/m.gguf");
  std::vector<float> rows(8), bias(8);
  const GgufRows matrix(*model.find("q"), 2), vector(*model.find("b"), 2, 0.5F);
  for (std::int64_t row = 0; row < 8; ++row) matrix.read(row, &rows[static_cast<std::size_t>(row)]);
  EXPECT_THAT(rows, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  vector.read(0, bias.data());
  EXPECT_THAT(bias, ElementsAre(-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5));
  EXPECT_FALSE(matrix.is_plain());
  EXPECT_TRUE(GgufRows(*model.find("q")).is_plain());
}

}  // namespace
}  // namespace foretoken
