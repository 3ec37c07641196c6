#include "checkpoint/packed/packed_file.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/ops/load_ops.h"
#include "base/file.h"
#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kPiece = LoadOps::kImagePiece;

Bytes some_bytes(std::size_t count, unsigned seed) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 13U);
  return bytes;
}

constexpr WeightFormat kOrdered{
    .bits = 4, .group = 64, .scale = DType::kF16, .has_column_order = true};

class PackedFileTest : public testing::Test {
 protected:
  PackedFileTest() : path_(folder_.path() + "/w.packed") {}

  void write(const std::string& state = "now") {
    const std::vector<UnwrittenMatrix> matrices{
        {{.name = "a", .format = kOrdered, .tensors = {"x"}}, {large_, small_}},
        {{.name = "b", .format = {}, .tensors = {"y", "z"}}, {small_, {}}},
        {{.name = "d", .format = {.bits = 8, .group = 128, .is_float = true}, .tensors = {"u"}},
         {small_}}};
    ASSERT_TRUE(write_packed_file(path_, state, matrices));
  }
  // The file with a byte changed.
  void change(std::size_t offset) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
  // What the file gives of an image of `bytes` bytes, empty where a piece cannot be had.
  static Bytes image(const PackedFile& file, const std::string& name, std::size_t number,
                     std::size_t bytes) {
    Bytes image(bytes);
    const PackedMatrix* matrix = file.find(name);
    if (matrix == nullptr) return {};
    for (std::size_t offset = 0; offset < bytes; offset += kPiece)
      if (!file.read(*matrix, number, offset,
                     std::span(image).subspan(offset, std::min(kPiece, bytes - offset))))
        return {};
    return image;
  }
  std::string fault() const {
    return error_of([&] { PackedFile::open(path_); });
  }

  TestFolder folder_;
  const std::string path_;
  const Bytes large_ = some_bytes(2 * kPiece + 777, 1), small_ = some_bytes(100, 2);
};

TEST_F(PackedFileTest, gives_back_what_was_written) {
  EXPECT_EQ(PackedFile::open(path_), nullptr);
  write();
  const auto file = PackedFile::open(path_);
  EXPECT_EQ(file->state(), "now");
  EXPECT_EQ(file->find("c"), nullptr);
  EXPECT_EQ(file->find("a")->format, kOrdered);
  EXPECT_FALSE(file->find("b")->format.is_coded());
  EXPECT_EQ(file->find("d")->format, (WeightFormat{.bits = 8, .group = 128, .is_float = true}));
  EXPECT_THAT(file->find("b")->tensors, ElementsAre("y", "z"));
  EXPECT_EQ(image(*file, "a", 0, large_.size()), large_);
  EXPECT_EQ(image(*file, "a", 1, small_.size()), small_);
  EXPECT_EQ(image(*file, "b", 0, small_.size()), small_);
}

TEST_F(PackedFileTest, gives_nothing_that_was_not_written) {
  write();
  const auto file = PackedFile::open(path_);
  EXPECT_TRUE(image(*file, "a", 0, large_.size() - 1).empty());
  EXPECT_TRUE(image(*file, "a", 0, large_.size() + 1).empty());
  EXPECT_TRUE(image(*file, "a", 0, 4 * kPiece).empty());
  EXPECT_TRUE(image(*file, "b", 1, 1).empty());
  EXPECT_TRUE(image(*file, "b", 2, 1).empty());
}

TEST_F(PackedFileTest, a_changed_byte_anywhere_is_noticed) {
  write();
  const std::size_t size = fs::file_size(path_);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 56; ++i) places.push_back(i);             // the header
  for (std::size_t i = 4096; i < size; i += 4001) places.push_back(i);  // images
  for (std::size_t i = size - 200; i < size; ++i) places.push_back(i);  // the directory
  int noticed = 0;
  for (const std::size_t place : places) {
    change(place);
    try {
      const auto file = PackedFile::open(path_);
      const bool is_whole = image(*file, "a", 0, large_.size()) == large_ &&
                            image(*file, "a", 1, small_.size()) == small_ &&
                            image(*file, "b", 0, small_.size()) == small_;
      const bool is_given = !image(*file, "a", 0, large_.size()).empty() &&
                            !image(*file, "a", 1, small_.size()).empty() &&
                            !image(*file, "b", 0, small_.size()).empty();
      EXPECT_EQ(is_whole, is_given) << place;  // else a byte between images, which nobody reads
      noticed += is_given ? 0 : 1;
    } catch (const Error&) {
      ++noticed;
    }
    change(place);
  }
  EXPECT_GT(noticed, 56 + 200 + 400);
}

TEST_F(PackedFileTest, a_file_that_was_cut_off_is_refused_by_name) {
  write();
  const std::size_t size = fs::file_size(path_);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{55}, std::size_t{56}, std::size_t{5000}, size - 1}) {
    fs::resize_file(path_, length);
    EXPECT_THAT(fault(), HasSubstr(path_)) << length;
    write();
  }
}

TEST_F(PackedFileTest, other_files_are_refused) {
  folder_.write("w.packed", std::string(100, 'x'));
  EXPECT_THAT(fault(), HasSubstr("begins otherwise"));
  write();
  change(16);
  EXPECT_THAT(fault(), HasSubstr("version"));
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_THAT(fault(), HasSubstr("no regular file"));
}

TEST_F(PackedFileTest, a_file_that_shrinks_while_it_is_read_gives_nothing) {
  write();
  const auto file = PackedFile::open(path_);
  fs::resize_file(path_, 5000);
  EXPECT_TRUE(image(*file, "a", 0, large_.size()).empty());
}

TEST_F(PackedFileTest, a_new_file_takes_the_place_of_the_old_one_at_once) {
  write("before");
  const auto before = PackedFile::open(path_);
  write("after");
  EXPECT_EQ(PackedFile::open(path_)->state(), "after");
  EXPECT_EQ(image(*before, "a", 0, large_.size()), large_);
  EXPECT_THAT(files(), ElementsAre("w.packed"));
}

TEST_F(PackedFileTest, one_process_writes_at_a_time_and_what_a_killed_one_left_is_written_over) {
  folder_.write("w.packed.part", std::string(3 * kPiece, 'x'));
  const int other = open((path_ + ".part").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(write_packed_file(path_, "now", {}));
  close(other);
  write();
  EXPECT_EQ(image(*PackedFile::open(path_), "a", 0, large_.size()), large_);
  EXPECT_THAT(files(), ElementsAre("w.packed"));
}

// A full disk, as far as a test can make one.
TEST_F(PackedFileTest, what_cannot_be_written_leaves_the_old_file_and_nothing_else) {
  write("before");
  const auto was = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit small{.rlim_cur = kPiece, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<UnwrittenMatrix> matrices{{{.name = "a"}, {large_}}};
  const std::string fault = error_of([&] { write_packed_file(path_, "after", matrices); });
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, was);
  EXPECT_THAT(fault, HasSubstr("cannot write file"));
  EXPECT_EQ(PackedFile::open(path_)->state(), "before");
  EXPECT_THAT(files(), ElementsAre("w.packed"));
}

TEST_F(PackedFileTest, a_folder_that_is_none_is_an_error) {
  EXPECT_THAT(error_of([&] { write_packed_file(folder_.path() + "/none/w", "now", {}); }),
              HasSubstr("cannot write file"));
}

}  // namespace
}  // namespace foretoken
