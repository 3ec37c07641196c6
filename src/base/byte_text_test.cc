#include "base/byte_text.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(ByteText, gigabytes_of_memory_are_powers_of_two) {
  EXPECT_EQ(gigabytes(0), 0.0);
  EXPECT_EQ(gigabytes(std::size_t{3} << 29), 1.5);
  EXPECT_EQ(gigabytes(std::size_t{1} << 40), 1024.0);
}

TEST(ByteText, files_have_the_largest_unit_that_they_fill) {
  EXPECT_EQ(byte_text(0), "0 bytes");
  EXPECT_EQ(byte_text(999), "999 bytes");
  EXPECT_EQ(byte_text(1'000), "1 kB");
  EXPECT_EQ(byte_text(352'400), "352 kB");
  EXPECT_EQ(byte_text(1'000'000), "1.0 MB");
  EXPECT_EQ(byte_text(3'450'001), "3.5 MB");
  EXPECT_EQ(byte_text(1'000'000'000), "1.00 GB");
  EXPECT_EQ(byte_text(1'104'000'000'000), "1104.00 GB");
}

TEST(ByteText, columns_of_megabytes_have_one_unit) {
  EXPECT_EQ(megabyte_text(0), "0.0 MB");
  EXPECT_EQ(megabyte_text(1'100'040'000), "1100.0 MB");
}

}  // namespace
}  // namespace foretoken
