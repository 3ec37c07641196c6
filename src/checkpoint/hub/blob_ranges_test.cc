#include "checkpoint/hub/blob_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

BlobRanges with(std::initializer_list<BlobRange> ranges) {
  BlobRanges all;
  for (const BlobRange range : ranges) all.add(range);
  return all;
}

TEST(BlobRanges, neighbours_and_overlaps_become_one) {
  EXPECT_EQ(with({{0, 5}, {5, 9}}).text(), "0 9\n");
  EXPECT_EQ(with({{5, 9}, {0, 5}}).text(), "0 9\n");
  EXPECT_EQ(with({{0, 4}, {8, 9}, {2, 8}}).text(), "0 9\n");
  EXPECT_EQ(with({{0, 9}, {2, 3}}).text(), "0 9\n");
  EXPECT_EQ(with({{0, 2}, {4, 6}, {3, 3}}).text(), "0 2\n4 6\n");
  EXPECT_EQ(with({{0, 2}, {4, 6}}).bytes(), 4);
}

TEST(BlobRanges, what_is_missing_is_cut_into_pieces) {
  EXPECT_THAT(with({}).missing(10, 4),
              ElementsAre(BlobRange{0, 4}, BlobRange{4, 8}, BlobRange{8, 10}));
  EXPECT_THAT(with({{2, 3}, {9, 10}}).missing(10, 4),
              ElementsAre(BlobRange{0, 2}, BlobRange{3, 7}, BlobRange{7, 9}));
  EXPECT_THAT(with({{0, 10}}).missing(10, 4), IsEmpty());
  EXPECT_THAT(with({}).missing(0, 4), IsEmpty());
  EXPECT_THAT(with({{0, 20}}).missing(10, 4), IsEmpty());
}

TEST(BlobRanges, a_text_is_read_back_or_counts_as_nothing) {
  const auto ranges = with({{0, 2}, {4, 6}});
  EXPECT_EQ(BlobRanges::read(ranges.text(), 6).text(), ranges.text());
  for (const char* bad : {"0", "0 x", "5 4", "-1 4", "0 7", "0 0", "x"})
    EXPECT_EQ(BlobRanges::read(bad, 6).bytes(), 0) << bad;
  EXPECT_EQ(BlobRanges::read("", 6).bytes(), 0);
}

}  // namespace
}  // namespace foretoken
