#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backend/host/host_step.h"
#include "base/index.h"
#include "base/rng.h"

namespace foretoken {
namespace {

SeqTable table_of(std::vector<std::int32_t> lengths, int pages_each) {
  SeqTable table(static_cast<int>(lengths.size()));
  table.length = std::move(lengths);
  PageId next = 100;
  for (auto& pages : table.pages)
    for (int i = 0; i < pages_each; ++i) pages.push_back(next += 3);
  return table;
}

DraftTrees trees_of(const std::vector<std::vector<std::int32_t>>& parents) {
  DraftTrees trees(static_cast<int>(parents.size()), 8);
  for (std::size_t slot = 0; slot < parents.size(); ++slot) {
    trees.plant(static_cast<SeqSlot>(slot), 50);
    for (std::size_t n = 1; n < parents[slot].size(); ++n)
      trees.grow(static_cast<SeqSlot>(slot), parents[slot][n], static_cast<Token>(60 + n));
  }
  return trees;
}

// Golden: the trees of SGLang's tree-building test; root at position 5 and 10.
TEST(Layout, positions_of_known_trees) {
  const auto trees = trees_of({{-1, 0, 0, 1, 2, 3, 4, 5}, {-1, 0, 1, 1, 1, 1, 3, 6}});
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true});
  plan.entries.push_back({.slot = 1, .has_tree = true});
  Batch batch;
  layout_rows(plan, trees, table_of({5, 10}, 2), batch);
  EXPECT_EQ(batch.rows, 16);
  EXPECT_EQ(batch.position,
            (std::vector<std::int32_t>{5, 6, 6, 7, 7, 8, 8, 9, 10, 11, 12, 12, 12, 12, 13, 14}));
  EXPECT_EQ(batch.mask[3], 0b1011U);
  EXPECT_EQ(batch.mask[7], 0b10101011U);
  EXPECT_EQ(batch.logit_rows.size(), 16U);
  EXPECT_FALSE(batch.seqs[0].is_chain);
}

TEST(Layout, chain_rows_come_first_and_the_tree_follows) {
  const auto trees = trees_of({{-1}, {-1, 0, 1}});
  const std::vector<Token> prompt{7, 8, 9};
  StepPlan plan;
  plan.entries.push_back({.slot = 1, .chain = prompt, .has_tree = true});
  plan.entries.push_back({.slot = 0, .chain = prompt, .after_chain = 4});
  Batch batch;
  const SeqTable table = table_of({14, 15}, 3);
  layout_rows(plan, trees, table, batch);
  EXPECT_EQ(batch.token, (std::vector<Token>{7, 8, 9, 50, 61, 62, 7, 8, 9}));
  EXPECT_EQ(batch.position, (std::vector<std::int32_t>{15, 16, 17, 18, 19, 20, 14, 15, 16}));
  EXPECT_EQ(batch.seq, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(batch.mask, (std::vector<std::uint64_t>{0, 0, 0, 1, 3, 7, 0, 0, 0}));
  EXPECT_EQ(batch.logit_rows, (std::vector<std::int32_t>{3, 4, 5}));
  EXPECT_EQ(batch.kv_slot[0], table.pages[1][0] * kPageTokens + 15);
  EXPECT_EQ(batch.kv_slot[1], table.pages[1][1] * kPageTokens);
  EXPECT_EQ(batch.kv_slot[6], table.pages[0][0] * kPageTokens + 14);
  const BatchSeq& first = batch.seqs[0];
  EXPECT_EQ(first.slot, 1);
  EXPECT_EQ(first.base, 15);
  EXPECT_EQ(first.chain, 3);
  EXPECT_EQ(first.rows, 6);
  EXPECT_EQ(first.num_pages, 2);
  EXPECT_TRUE(first.is_chain);
  EXPECT_EQ(batch.seqs[1].first_row, 6);
  EXPECT_EQ(batch.seqs[1].first_page, 2);
}

TEST(Layout, scored_chain_rows_get_logits_if_their_successor_is_known) {
  const auto trees = trees_of({{-1}});
  const std::vector<Token> prompt{1, 2, 3, 4};
  const auto logit_rows = [&](StepEntry entry) {
    StepPlan plan;
    plan.entries.push_back(entry);
    Batch batch;
    layout_rows(plan, trees, table_of({0}, 1), batch);
    return batch.logit_rows;
  };
  using Rows = std::vector<std::int32_t>;
  EXPECT_EQ(logit_rows({.slot = 0, .chain = prompt, .score_from = 2, .after_chain = 9}),
            (Rows{2, 3}));
  EXPECT_EQ(logit_rows({.slot = 0, .chain = prompt, .score_from = 2}), (Rows{2}));
  EXPECT_EQ(logit_rows({.slot = 0, .chain = prompt, .has_tree = true, .score_from = 2}),
            (Rows{2, 3, 4}));
  EXPECT_EQ(logit_rows({.slot = 0, .chain = prompt}), (Rows{}));
}

TEST(LayoutDeathTest, rows_without_a_page_are_a_bug) {
  const auto trees = trees_of({{-1}});
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true});
  Batch batch;
  EXPECT_DEATH(layout_rows(plan, trees, table_of({16}, 1), batch), "16 \\+ 1 tokens in 1 pages");
}

TEST(Layout, visible_slots_follow_the_path) {
  const auto trees = trees_of({{-1, 0, 0, 2}});
  const std::vector<Token> prompt{7};
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .chain = prompt, .has_tree = true});
  Batch batch;
  const SeqTable table = table_of({15}, 2);
  layout_rows(plan, trees, table, batch);
  const std::int32_t first = table.pages[0][0] * kPageTokens;
  const std::int32_t second = table.pages[0][1] * kPageTokens;
  std::vector<std::int32_t> slots, prefix(16);
  std::iota(prefix.begin(), prefix.end(), first);
  visible_slots(batch, 0, slots);
  EXPECT_EQ(slots, prefix);
  visible_slots(batch, 4, slots);  // node 3: root, node 2, itself
  prefix.insert(prefix.end(), {second, second + 2, second + 3});
  EXPECT_EQ(slots, prefix);
}

TEST(Layout, slots_before_the_first_are_seen_by_none_but_who_is_stored_there) {
  const auto trees = trees_of({{-1, 0, 0, 2}});
  const std::vector<Token> prompt{7, 8};
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .chain = prompt, .has_tree = true});
  Batch batch;
  const SeqTable table = table_of({0}, 2);
  layout_rows(plan, trees, table, batch);
  batch.seqs[0].first_slot = 3;
  const std::int32_t page = table.pages[0][0] * kPageTokens;
  std::vector<std::int32_t> slots;
  const auto seen = [&](int row) {
    visible_slots(batch, row, slots);
    for (std::int32_t& slot : slots) slot -= page;
    return slots;
  };
  using Slots = std::vector<std::int32_t>;
  EXPECT_EQ(seen(0), Slots{0});
  EXPECT_EQ(seen(1), Slots{1});
  EXPECT_EQ(seen(2), Slots{2});       // the root, third in the text
  EXPECT_EQ(seen(4), Slots{4});       // node 2, the fourth
  EXPECT_EQ(seen(5), (Slots{4, 5}));  // node 3 behind it
}

TEST(Verify, scores_known_successors_and_walks_trees) {
  ThreadPool pool(2);
  const auto trees = trees_of({{-1, 0}});
  const std::vector<Token> prompt{1, 2};
  SamplingParams params;
  params.temperature = 0.0F;
  StepPlan plan;
  plan.entries.push_back(
      {.slot = 0, .chain = prompt, .has_tree = true, .score_from = 0, .params = &params});
  Batch batch;
  layout_rows(plan, trees, table_of({0}, 1), batch);
  std::vector<float> logits(4 * 70, 0.0F);
  logits[0 * 70 + 2] = 50.0F;   // prompt token 1 is followed by 2,
  logits[1 * 70 + 50] = 50.0F;  // 2 by the root,
  logits[2 * 70 + 61] = 50.0F;  // the root by node 1,
  logits[3 * 70 + 33] = 50.0F;  // and that by the bonus token
  const Walk walk =
      verify_trees(pool, plan, trees, batch, Tensor(logits.data(), DType::kF32, {4, 70}));
  ASSERT_EQ(walk.seqs.size(), 1U);
  const WalkSeq& seq = walk.seqs[0];
  ASSERT_EQ(seq.scored.size(), 2U);
  EXPECT_EQ(seq.scored[0].token, 2);
  EXPECT_NEAR(seq.scored[0].logprob, 0.0F, 1e-6F);
  EXPECT_EQ(seq.scored[1].token, 50);
  EXPECT_EQ(seq.path, (std::vector<std::int32_t>{0, 1}));
  ASSERT_EQ(seq.emitted.size(), 2U);
  EXPECT_EQ(seq.emitted[1].token, 33);
}

// Logits of a large vocabulary in which the children of a tree are probable, so that walks are
// long.
std::vector<float> steep_logits(const DraftTrees& trees, std::size_t vocab) {
  const int nodes = trees.size(0);
  std::vector<float> logits(at(nodes) * vocab);
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(mix_seed(3, i) >> 40) * 0x1p-24F;
  for (int n = 1; n < nodes; ++n)
    logits[at(trees.parents(0)[at(n)]) * vocab + at(trees.tokens(0)[at(n)])] = 14.0F;
  return logits;
}

TEST(Verify, many_workers_walk_one_tree_as_one_does) {
  constexpr std::size_t kVocab = 40000;
  const auto trees = trees_of({{-1, 0, 0, 1, 1, 3, 3, 6}});
  SamplingParams params;
  params.frequency_penalty = 0.5F;  // ancestors count
  params.top_p = 0.9F;
  TokenCounts counts;
  for (const Token token : trees.tokens(0)) counts.add_output(token);
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true, .params = &params, .counts = &counts});
  Batch batch;
  layout_rows(plan, trees, table_of({0}, 2), batch);
  const std::vector<float> logits = steep_logits(trees, kVocab);
  std::size_t longest = 0;
  for (params.seed = 0; params.seed < 12; ++params.seed) {
    const auto walk_with = [&](int threads) {
      ThreadPool pool(threads, false);
      std::vector<float> copy = logits;
      const Tensor rows(copy.data(), DType::kF32, {trees.size(0), std::int64_t{kVocab}});
      return verify_trees(pool, plan, trees, batch, rows).seqs.at(0);
    };
    const WalkSeq alone = walk_with(1);
    longest = std::max(longest, alone.path.size());
    for (const int threads : {2, 3, 8}) {
      const WalkSeq shared = walk_with(threads);
      EXPECT_EQ(shared.path, alone.path);
      ASSERT_EQ(shared.emitted.size(), alone.emitted.size());
      for (std::size_t i = 0; i < alone.emitted.size(); ++i) {
        EXPECT_EQ(shared.emitted[i].token, alone.emitted[i].token);
        EXPECT_EQ(shared.emitted[i].logprob, alone.emitted[i].logprob);
      }
    }
  }
  EXPECT_GE(longest, 4U);
}

TEST(Verify, an_entry_without_a_tree_emits_nothing) {
  ThreadPool pool(1);
  const std::vector<Token> prompt{1, 2};
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .chain = prompt});
  const auto trees = trees_of({{-1}});
  Batch batch;
  layout_rows(plan, trees, table_of({0}, 1), batch);
  const Walk walk = verify_trees(pool, plan, trees, batch, Tensor());
  ASSERT_EQ(walk.seqs.size(), 1U);
  EXPECT_TRUE(walk.seqs[0].path.empty());
  EXPECT_TRUE(walk.seqs[0].emitted.empty());
}

// KV whose elements tell where they were stored.
TEST(KvKeep, accepted_nodes_move_next_to_the_prefix) {
  ThreadPool pool(2);
  constexpr int kPages = 130, kHeads = 2, kDim = 3;
  const auto trees = trees_of({{-1, 0, 0, 2, 3, 4}});
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true});
  Batch batch;
  const SeqTable table = table_of({14}, 2);
  layout_rows(plan, trees, table, batch);
  std::vector<float> k(kPages * kHeads * kDim * kPageTokens), v(k.size());
  std::iota(k.begin(), k.end(), 0.0F);
  std::iota(v.begin(), v.end(), 0.0F);
  const KvLayer kv{Tensor(k.data(), DType::kF32, {kPages, kHeads, kDim, kPageTokens}),
                   Tensor(v.data(), DType::kF32, {kPages, kHeads, kPageTokens, kDim})};
  Walk walk;
  walk.seqs.push_back(
      {.slot = 0, .path = {0, 2, 3, 5}, .emitted = {}, .foreseen = {}, .scored = {}});
  keep_kv(pool, walk, batch, std::span(&kv, 1));
  const auto index = [&](int slot, int h, int d, bool is_k) {
    const int page = slot / kPageTokens, offset = slot % kPageTokens;
    return static_cast<std::size_t>(is_k ? ((page * kHeads + h) * kDim + d) * kPageTokens + offset
                                         : ((page * kHeads + h) * kPageTokens + offset) * kDim + d);
  };
  for (std::size_t depth = 0; depth < 4; ++depth)
    for (int h = 0; h < kHeads; ++h)
      for (int d = 0; d < kDim; ++d) {
        const int from = batch.kv_slot[static_cast<std::size_t>(walk.seqs[0].path[depth])];
        const int to = batch.kv_slot[depth];
        EXPECT_EQ(k[index(to, h, d, true)], static_cast<float>(index(from, h, d, true)));
        EXPECT_EQ(v[index(to, h, d, false)], static_cast<float>(index(from, h, d, false)));
      }
  // Nothing else moved.
  EXPECT_EQ(k[index(batch.kv_slot[4], 1, 1, true)],
            static_cast<float>(index(batch.kv_slot[4], 1, 1, true)));
}

}  // namespace
}  // namespace foretoken
