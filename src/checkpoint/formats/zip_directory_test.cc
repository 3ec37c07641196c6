#include "checkpoint/formats/zip_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

// An archive of one entry "a" with "data" in it, byte 34 to 37 of the file; what is changed about
// it makes it one that is refused.
struct Archive {
  std::uint64_t flags = 0, method = 0;
  std::uint64_t plain_bytes = 4, stored_bytes = 4, header_at = 0;
  std::string extension = {};  // of the directory's entry
  int entries = 1;             // the same one, again and again
  bool is_64_bit = false;      // the directory has its 64-bit form

  std::string bytes() const {
    // Version, flags, method, time, date, checksum, sizes, length of the name, of the extension.
    const std::string local = "PK\3\4" + number(0, 2) + number(flags, 2) + number(method, 2) +
                              number(0, 8) + number(4, 4) + number(4, 4) + number(1, 2) +
                              number(3, 2) + "a" + "pad" + "data";
    std::string directory;
    for (int i = 0; i < entries; ++i)
      directory += "PK\1\2" + number(0, 4) + number(flags, 2) + number(method, 2) + number(0, 8) +
                   number(stored_bytes, 4) + number(plain_bytes, 4) + number(1, 2) +
                   number(extension.size(), 2) + number(0, 10) + number(header_at, 4) + "a" +
                   extension;
    const auto count = static_cast<std::uint64_t>(entries);
    std::string end64;
    if (is_64_bit)
      end64 = "PK\6\6" + number(44, 8) + number(0, 12) + number(count, 8) + number(count, 8) +
              number(directory.size(), 8) + number(local.size(), 8) + "PK\6\7" + number(0, 4) +
              number(local.size() + directory.size(), 8) + number(1, 4);
    const std::uint64_t all = 0xffffffff;
    return local + directory + end64 + "PK\5\6" + number(0, 4) +
           number(is_64_bit ? all : count, 2) + number(is_64_bit ? all : count, 2) +
           number(directory.size(), 4) + number(is_64_bit ? all : local.size(), 4) + number(0, 2);
  }
};

std::map<std::string, ByteRange> directory_of(const std::string& bytes) {
  return read_zip_directory(std::as_bytes(std::span(bytes)), "file");
}

std::string fault_of(const Archive& archive) {
  return error_of([&] { directory_of(archive.bytes()); });
}

void expect_the_data(const Archive& archive) {
  const std::string bytes = archive.bytes();
  const auto found = directory_of(bytes);
  ASSERT_EQ(found.count("a"), 1U);
  EXPECT_EQ(bytes.substr(found.at("a").offset, found.at("a").bytes), "data");
}

TEST(ZipDirectory, finds_the_bytes_behind_a_padded_header) { expect_the_data({}); }

TEST(ZipDirectory, may_have_its_64_bit_form) {
  expect_the_data({.is_64_bit = true});
  // Fields that overflowed, in the order in which the extension repeats them.
  const std::uint64_t overflowed = 0xffffffff;
  expect_the_data({.plain_bytes = overflowed,
                   .stored_bytes = overflowed,
                   .header_at = overflowed,
                   .extension = number(7, 2) + number(2, 2) + "??" + number(1, 2) + number(24, 2) +
                                number(4, 8) + number(4, 8) + number(0, 8),
                   .is_64_bit = true});
}

TEST(ZipDirectory, an_archive_that_torch_would_not_write_is_refused) {
  EXPECT_THAT(fault_of({.method = 8}), HasSubstr("zip entry is compressed (file)"));
  EXPECT_THAT(fault_of({.flags = 1}), HasSubstr("encrypted"));
  EXPECT_THAT(fault_of({.plain_bytes = 5}), HasSubstr("two sizes"));
  EXPECT_THAT(fault_of({.entries = 2}), HasSubstr("two zip entries of one name"));
  EXPECT_THAT(fault_of({.header_at = 3}), HasSubstr("not where its directory says"));
  EXPECT_THAT(fault_of({.plain_bytes = 4000, .stored_bytes = 4000}),
              HasSubstr("ends beyond the end of the file (truncated?)"));
  EXPECT_THAT(fault_of({.extension = number(1, 2) + number(200, 2)}),
              HasSubstr("an extension of an entry does not fit"));
}

TEST(ZipDirectory, a_directory_of_impossible_size_ends_with_the_file) {
  std::string bytes = Archive{.is_64_bit = true}.bytes();
  const std::size_t end64 = bytes.find("PK\6\6");
  bytes.replace(end64 + 32, 8, number(~std::uint64_t{0}, 8));
  EXPECT_THAT(error_of([&] { directory_of(bytes); }),
              HasSubstr("an entry of its directory is broken"));
  bytes.replace(end64 + 48, 8, number(~std::uint64_t{0}, 8));
  EXPECT_THAT(error_of([&] { directory_of(bytes); }), HasSubstr("truncated zip archive"));
}

}  // namespace
}  // namespace foretoken
