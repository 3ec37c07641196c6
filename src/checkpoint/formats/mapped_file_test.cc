// Files that change under those who have mapped them: a refusal, never the end of the process.

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPage = 4096;

std::string path_in(const TestFolder& folder, const std::string& name) {
  return folder.path() + "/" + name;
}

// As far as a reader sees: read byte for byte.
unsigned sum_of(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
  return sum;
}

TEST(MappedFile, what_is_left_alone_passes_the_check) {
  const TestFolder folder;
  folder.write("f", std::string(3 * kPage, '\1'));
  const MappedFile file(path_in(folder, "f"));
  EXPECT_EQ(sum_of(file.bytes()), 3 * kPage);
  EXPECT_NO_THROW(file.check());
}

TEST(MappedFile, pages_cut_off_read_as_zeros_and_fail_the_check) {
  const TestFolder folder;
  folder.write("f", std::string(8 * kPage, '\1'));
  const MappedFile file(path_in(folder, "f")), other(path_in(folder, "f"));
  std::filesystem::resize_file(path_in(folder, "f"), 2 * kPage);
  EXPECT_EQ(sum_of(file.bytes()), 2 * kPage);
  EXPECT_EQ(sum_of(file.bytes()), 2 * kPage);  // and again
  const std::string fault = error_of([&] { file.check(); });
  EXPECT_THAT(fault, HasSubstr(path_in(folder, "f")));
  EXPECT_THAT(fault, HasSubstr("expected 32768 bytes, found 8192 bytes"));
  EXPECT_THAT(error_of([&] { other.check(); }), HasSubstr("changed its size"));
}

TEST(MappedFile, several_threads_may_meet_the_end_at_once) {
  const TestFolder folder;
  folder.write("f", std::string(64 * kPage, '\1'));
  const MappedFile file(path_in(folder, "f"));
  std::filesystem::resize_file(path_in(folder, "f"), 0);
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < 4; ++i)
    readers.emplace_back(
        [&, i] { EXPECT_EQ(sum_of(file.bytes().subspan(16 * i * kPage, 16 * kPage)), 0U); });
  for (auto& reader : readers) reader.join();
  EXPECT_THROW(file.check(), Error);
}

TEST(MappedFile, cut_off_and_grown_again_is_noticed) {
  const TestFolder folder;
  folder.write("f", std::string(4 * kPage, '\1'));
  const MappedFile file(path_in(folder, "f"));
  std::filesystem::resize_file(path_in(folder, "f"), kPage);
  EXPECT_EQ(sum_of(file.bytes()), kPage);
  std::filesystem::resize_file(path_in(folder, "f"), 4 * kPage);
  EXPECT_THROW(file.check(), Error);
}

TEST(MappedFile, a_file_written_to_is_noticed) {
  const TestFolder folder;
  folder.write("f", std::string(kPage, '\1'));
  std::filesystem::last_write_time(
      path_in(folder, "f"), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const MappedFile file(path_in(folder, "f"));
  std::fstream(path_in(folder, "f"), std::ios::in | std::ios::out) << "other";
  EXPECT_THAT(error_of([&] { file.check(); }), HasSubstr("written to"));
}

TEST(MappedFile, a_file_put_in_the_place_of_another_is_another_file) {
  const TestFolder folder;
  folder.write("f", std::string(kPage, '\1'));
  folder.write("new", "x");
  const MappedFile file(path_in(folder, "f"));
  std::filesystem::rename(path_in(folder, "new"), path_in(folder, "f"));
  EXPECT_EQ(sum_of(file.bytes()), kPage);
  EXPECT_NO_THROW(file.check());
}

TEST(MappedCheckpoint, weights_cut_off_before_they_are_read_are_refused_with_the_files_name) {
  const TestFolder folder;
  folder.write("model.safetensors",
               safetensors_bytes({test_tensor("a", {64, 64}), test_tensor("b", {64, 64})}));
  const std::string path = path_in(folder, "model.safetensors");
  const auto source = open_checkpoint(folder.path(), "safetensors", false);
  std::filesystem::resize_file(path, kPage);
  const auto b = source->find("b", {64, 64});
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(b->f32()[4095], 0.0F);
  EXPECT_THAT(error_of([&] { source->release("b"); }), HasSubstr(path));
}

TEST(MappedCheckpoint, copies_of_what_is_cut_off_are_refused_too) {
  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("a", {64, 64})}, 1));
  const auto source = open_checkpoint(folder.path(), "safetensors", false);
  std::filesystem::resize_file(path_in(folder, "model.safetensors"), 100);
  EXPECT_TRUE(source->find("a", {64, 64}).has_value());
  EXPECT_THROW(source->release("a"), Error);
}

}  // namespace
}  // namespace foretoken
