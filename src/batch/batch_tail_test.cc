#include "batch/batch_tail.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using Rows = std::vector<std::int32_t>;

// Three sequences: a part of a prompt that nobody samples; the end of a prompt, 3 rows behind 10
// stored ones, with its root; and a tree of 2 nodes behind 20.
Batch three_sequences() {
  Batch batch;
  batch.rows = 9;
  batch.pages = {4, 5, 6};
  batch.seqs = {{.slot = 2,
                 .first_row = 0,
                 .rows = 3,
                 .base = 0,
                 .chain = 3,
                 .first_page = 0,
                 .num_pages = 1,
                 .is_chain = true},
                {.slot = 0,
                 .first_row = 3,
                 .rows = 4,
                 .base = 10,
                 .chain = 3,
                 .first_page = 1,
                 .num_pages = 1,
                 .is_chain = true},
                {.slot = 1,
                 .first_row = 7,
                 .rows = 2,
                 .base = 20,
                 .chain = 0,
                 .first_page = 2,
                 .num_pages = 1,
                 .is_chain = false}};
  batch.token = {1, 2, 3, 11, 12, 13, 14, 21, 22};
  batch.position = {0, 1, 2, 10, 11, 12, 13, 20, 21};
  batch.kv_slot = {64, 65, 66, 90, 91, 92, 93, 116, 117};
  batch.seq = {0, 0, 0, 1, 1, 1, 1, 2, 2};
  batch.mask = {0, 0, 0, 0, 0, 0, 1, 1, 3};
  batch.logit_rows = {6, 7, 8};
  return batch;
}

TEST(BatchTail, rows_before_the_first_that_is_read_are_what_was_stored_before) {
  const Batch whole = three_sequences();
  EXPECT_EQ(tail_rows(whole), 3);
  const BatchTail tail = tail_of(whole);
  EXPECT_EQ(tail.rows, (Rows{6, 7, 8}));
  const Batch& t = tail.batch;
  EXPECT_EQ(t.rows, 3);
  EXPECT_EQ(t.token, (std::vector<Token>{14, 21, 22}));
  EXPECT_EQ(t.position, (Rows{13, 20, 21}));
  EXPECT_EQ(t.kv_slot, (Rows{93, 116, 117}));
  EXPECT_EQ(t.seq, (Rows{0, 1, 1}));
  EXPECT_EQ(t.mask, (std::vector<std::uint64_t>{1, 1, 3}));
  EXPECT_EQ(t.logit_rows, (Rows{0, 1, 2}));
  EXPECT_EQ(t.pages, whole.pages);
  ASSERT_EQ(t.seqs.size(), 2U);
  EXPECT_EQ(t.seqs[0].slot, 0);
  EXPECT_EQ(t.seqs[0].first_row, 0);
  EXPECT_EQ(t.seqs[0].rows, 1);
  EXPECT_EQ(t.seqs[0].base, 13);
  EXPECT_EQ(t.seqs[0].chain, 0);
  EXPECT_EQ(t.seqs[0].first_page, 1);
  EXPECT_EQ(t.seqs[1].first_row, 1);
  EXPECT_EQ(t.seqs[1].rows, 2);
  EXPECT_EQ(t.seqs[1].base, 20);
  EXPECT_EQ(t.seqs[1].first_page, 2);
}

TEST(BatchTail, a_chain_row_that_is_scored_keeps_all_behind_it) {
  Batch whole = three_sequences();
  whole.logit_rows = {4, 6, 7, 8};
  EXPECT_EQ(tail_rows(whole), 5);
  const BatchTail tail = tail_of(whole);
  EXPECT_EQ(tail.rows, (Rows{4, 5, 6, 7, 8}));
  EXPECT_EQ(tail.batch.logit_rows, (Rows{0, 2, 3, 4}));
  EXPECT_EQ(tail.batch.seqs[0].base, 11);
  EXPECT_EQ(tail.batch.seqs[0].chain, 2);
}

TEST(BatchTail, a_tree_stays_whole) {
  Batch whole = three_sequences();
  whole.logit_rows = {8};
  EXPECT_EQ(tail_of(whole).rows, (Rows{7, 8}));
  EXPECT_EQ(tail_rows(whole), 2);
}

TEST(BatchTail, nothing_is_left_where_nothing_is_read) {
  Batch whole = three_sequences();
  whole.logit_rows.clear();
  EXPECT_EQ(tail_rows(whole), 0);
  EXPECT_TRUE(tail_of(whole).rows.empty());
  EXPECT_TRUE(tail_of(whole).batch.seqs.empty());
}

TEST(BatchTail, is_worth_its_copies_where_most_rows_end_before_it) {
  Batch whole = three_sequences();
  EXPECT_FALSE(ends_early(whole));  // three of nine are read: six are spared
  whole.logit_rows.clear();
  EXPECT_TRUE(ends_early(whole));
  whole.logit_rows = {0, 3, 7};
  EXPECT_FALSE(ends_early(whole));
}

TEST(BatchTail, a_row_is_found_among_those_that_are_listed) {
  EXPECT_EQ(place_of(7, {}), 7);
  EXPECT_EQ(place_of(7, Rows{3, 7, 9}), 1);
}

}  // namespace
}  // namespace foretoken
