#include "draft/from_text/suffix/suffix_trees.h"

#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "draft/from_text/suffix/suffix_options.h"

namespace foretoken::suffix_trees_test {
namespace {

using testing::ElementsAre;
using Tokens = std::vector<Token>;
using Cursor = SuffixTrees::Cursor;

SuffixTrees::TextId tell(SuffixTrees& trees, SuffixTrees::Id root, const Tokens& tokens) {
  const auto text = trees.begin(root);
  for (const Token token : tokens) EXPECT_TRUE(trees.append(text, token));
  return text;
}

Cursor cursor_after(const SuffixTrees& trees, SuffixTrees::Id root, const Tokens& tokens) {
  Cursor cursor;
  cursor.start(trees.place_of(root));
  for (const Token token : tokens) trees.advance(cursor, token);
  return cursor;
}

// What is read off the end of some text, of which `length` tokens must agree.
struct Walk {
  Tokens tokens;
  std::vector<float> shares;
};
Walk walk_on(const SuffixTrees& trees, const Cursor& cursor, int length, int ended, int most) {
  Walk walk;
  if (length > cursor.longest()) return walk;
  SuffixTrees::Point point = trees.point(cursor, length);
  for (int n = 0; n < most && point.node != 0; ++n) {
    const auto before = point.node;
    const auto next = trees.follow(point, ended);
    if (!next) break;
    if (point.node != before) ended = 0;
    walk.tokens.push_back(next->token);
    walk.shares.push_back(next->share);
  }
  return walk;
}

TEST(SuffixTrees, a_text_that_was_never_said_before_is_a_leaf_for_each_beginning) {
  SuffixTrees trees(1000, 4);
  const auto root = trees.plant();
  const auto text = tell(trees, root, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(trees.nodes(), 1 + 6);
  EXPECT_EQ(trees.end_of(text).longest(), 0);
  EXPECT_EQ(trees.fault_below(root), "");
}

TEST(SuffixTrees, the_tree_of_a_short_text_by_hand) {
  SuffixTrees trees(1000, 8);
  const auto root = trees.plant();
  const Token a = 1, b = 2, c = 3;
  const auto text = tell(trees, root, {a, b, a, b, a, c});
  EXPECT_EQ(trees.fault_below(root), "");
  // Below the root: a (3 times), b a (twice), c; below a: b a (twice), c; below both: their ways
  // on. a, a>ba, a>ba>bac, a>ba>c, a>c, ba, ba>bac, ba>c, c and the root:
  EXPECT_EQ(trees.nodes(), 10);
  const Cursor after_a = cursor_after(trees, root, {a});
  ASSERT_EQ(after_a.longest(), 1);
  const Walk from_a = walk_on(trees, after_a, 1, 0, 10);
  EXPECT_EQ(from_a.tokens[0], b);
  EXPECT_FLOAT_EQ(from_a.shares[0], 2.0F / 3);  // b, b, c
  EXPECT_EQ(from_a.tokens[1], a);
  EXPECT_FLOAT_EQ(from_a.shares[1], 1);
  EXPECT_EQ(from_a.tokens[2], c) << "the newer of two that are alike";
  EXPECT_FLOAT_EQ(from_a.shares[2], 0.5F);
  EXPECT_EQ(from_a.tokens.size(), 3U);
  // The text itself ends with a and c, which nothing has followed yet.
  EXPECT_EQ(trees.end_of(text).longest(), 0);
  ASSERT_TRUE(trees.append(text, a));
  ASSERT_TRUE(trees.append(text, b));
  EXPECT_EQ(trees.end_of(text).longest(), 2);
  EXPECT_THAT(walk_on(trees, trees.end_of(text), 2, 1, 4).tokens, ElementsAre(a, c, a, b));
  EXPECT_THAT(walk_on(trees, trees.end_of(text), 2, 1, 2).shares, ElementsAre(1.0F, 0.5F));
}

TEST(SuffixTrees, beyond_its_depth_a_run_goes_on_as_its_newest_text_did) {
  SuffixTrees trees(1000, 4);
  const auto root = trees.plant();
  tell(trees, root, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto newer = tell(trees, root, {0, 1, 2, 3, 4, 5, 6, 9});
  EXPECT_THAT(walk_on(trees, cursor_after(trees, root, {1, 2}), 2, 0, 10).tokens,
              ElementsAre(3, 4, 5, 6, 9));
  const Cursor far = cursor_after(trees, root, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(far.longest(), 4);
  EXPECT_EQ(far.agreed(), 6);
  EXPECT_THAT(walk_on(trees, far, 4, 0, 10).tokens, ElementsAre(6, 9));
  EXPECT_EQ(trees.end_of(newer).longest(), 0);
}

// How often each token followed each run, by looking at all texts.
class Naive {
 public:
  explicit Naive(int depth) : depth_(depth) {}
  void add(const Tokens& text, int times) {
    for (std::size_t i = 0; i < text.size(); ++i)
      for (int n = 1; n <= depth_ && i + at(n) <= text.size(); ++n)
        counts_[Tokens(text.begin() + static_cast<std::ptrdiff_t>(i),
                       text.begin() + static_cast<std::ptrdiff_t>(i) + n)] += times;
    std::erase_if(counts_, [](const auto& run) { return run.second == 0; });
  }
  int count(const Tokens& run) const {
    const auto found = counts_.find(run);
    return found == counts_.end() ? 0 : found->second;
  }
  const std::map<Tokens, int>& counts() const { return counts_; }

 private:
  int depth_;
  std::map<Tokens, int> counts_;
};

// All runs of the texts are there and no others; what followed most often is told, with its share.
void expect_same(const SuffixTrees& trees, SuffixTrees::Id root, const Naive& naive, int depth,
                 Token vocab) {
  ASSERT_EQ(trees.fault_below(root), "");
  for (const auto& [run, count] : naive.counts()) {
    const int size = static_cast<int>(run.size());
    const Cursor cursor = cursor_after(trees, root, run);
    ASSERT_EQ(cursor.longest(), size);
    if (size == depth) continue;
    int most = 0, ways = 0;
    for (Token token = 0; token < vocab; ++token) {
      Tokens longer = run;
      longer.push_back(token);
      const int times = naive.count(longer);
      most = std::max(most, times);
      ways += times > 0 ? 1 : 0;
      ASSERT_EQ(cursor_after(trees, root, longer).longest() == size + 1, times > 0);
    }
    const Walk next = walk_on(trees, cursor, size, 0, 1);
    ASSERT_EQ(next.tokens.empty(), ways == 0);
    if (ways == 0) continue;
    Tokens longer = run;
    longer.push_back(next.tokens[0]);
    ASSERT_EQ(naive.count(longer), most);
    // Inside an edge it is not told how many texts end there.
    if (ways > 1) {
      ASSERT_FLOAT_EQ(next.shares[0], static_cast<float>(most) / static_cast<float>(count));
    }
  }
}

Tokens random_text(std::mt19937& random, int most, Token vocab) {
  Tokens text(random() % at(most) + 1);
  for (Token& token : text) token = static_cast<Token>(random() % at(vocab));
  return text;
}

TEST(SuffixTrees, it_agrees_with_the_definition_for_texts_of_few_and_many_words) {
  std::mt19937 random(5);
  for (const int depth : {2, 3, 6, 24})
    for (const Token vocab : {1, 2, 3, 12}) {
      SuffixTrees trees(4000, depth);
      Naive naive(depth);
      const auto root = trees.plant();
      for (int n = 0; n < 8; ++n) {
        const Tokens text = random_text(random, 60, vocab);
        trees.end(tell(trees, root, text));
        naive.add(text, 1);
        ASSERT_NO_FATAL_FAILURE(expect_same(trees, root, naive, depth, vocab))
            << "depth " << depth << ", " << vocab << " words, text " << n;
      }
    }
}

TEST(SuffixTrees, a_text_that_grows_counts_its_own_end_but_once) {
  std::mt19937 random(6);
  for (int n = 0; n < 20; ++n) {
    SuffixTrees trees(4000, 5);
    const auto root = trees.plant();
    const auto text = trees.begin(root);
    Tokens said;
    for (int i = 0; i < 80; ++i) {
      said.push_back(static_cast<Token>(random() % 3));
      ASSERT_TRUE(trees.append(text, said.back()));
      Naive naive(5);
      naive.add(said, 1);
      const Cursor& end = trees.end_of(text);
      for (int length = 1; length <= 5 && at(length) <= said.size(); ++length) {
        const Tokens run(said.end() - length, said.end());
        ASSERT_EQ(length <= end.longest(), naive.count(run) > 1);
      }
    }
    ASSERT_EQ(trees.fault_below(root), "");
  }
}

TEST(SuffixTrees, texts_that_are_taken_out_in_their_order_leave_what_the_others_said) {
  std::mt19937 random(7);
  for (const int depth : {3, 8})
    for (const Token vocab : {2, 5}) {
      SuffixTrees trees(3000, depth);
      Naive naive(depth);
      const auto root = trees.plant();
      std::deque<std::pair<SuffixTrees::TextId, Tokens>> texts;
      for (int n = 0; n < 120; ++n) {
        const Tokens text = random_text(random, 40, vocab);
        texts.emplace_back(tell(trees, root, text), text);
        trees.end(texts.back().first);
        naive.add(text, 1);
        if (texts.size() > 6) {
          while (!trees.take_out(texts.front().first, 7)) continue;
          trees.release(texts.front().first);
          naive.add(texts.front().second, -1);
          texts.pop_front();
        }
        if (n % 10 == 9) {
          ASSERT_NO_FATAL_FAILURE(expect_same(trees, root, naive, depth, vocab));
        }
      }
      for (const auto& [id, text] : texts) {
        while (!trees.take_out(id, 100)) continue;
        trees.release(id);
      }
      EXPECT_TRUE(trees.is_bare(root));
      EXPECT_EQ(trees.nodes(), 1);
      EXPECT_EQ(trees.tokens(), 0);
    }
}

TEST(SuffixTrees, a_cursor_outlives_what_it_points_at) {
  SuffixTrees trees(1000, 4);
  const auto root = trees.plant();
  const auto first = tell(trees, root, {1, 2, 3, 4, 5});
  trees.end(first);
  Cursor cursor = cursor_after(trees, root, {1, 2, 3});
  EXPECT_EQ(cursor.longest(), 3);
  ASSERT_TRUE(trees.take_out(first, 10));
  trees.release(first);
  tell(trees, root, {7, 7, 7, 7, 7, 7});
  for (int length = 1; length <= 3; ++length) EXPECT_EQ(trees.point(cursor, length).node, 0U);
  trees.advance(cursor, 4);
  EXPECT_EQ(cursor.longest(), 0);
  trees.advance(cursor, 7);
  EXPECT_EQ(cursor.longest(), 1);
}

TEST(SuffixTrees, a_cursor_finds_its_place_in_edges_that_were_split_since) {
  SuffixTrees trees(1000, 8);
  const auto root = trees.plant();
  tell(trees, root, {1, 2, 3, 4, 5, 6});
  Cursor near = cursor_after(trees, root, {1, 2}), far = cursor_after(trees, root, {1, 2, 3, 4});
  trees.end(tell(trees, root, {1, 2, 3, 9}));
  trees.end(tell(trees, root, {1, 2, 8}));
  for (const Token token : {3, 4, 5}) trees.advance(near, token);
  EXPECT_EQ(near.longest(), 5);
  trees.advance(far, 5);
  EXPECT_EQ(far.longest(), 5);
  EXPECT_THAT(walk_on(trees, far, 5, 0, 3).tokens, ElementsAre(6));
}

TEST(SuffixTrees, a_felled_tree_leaves_nothing_behind) {
  SuffixTrees trees(2000, 12);
  std::mt19937 random(8);
  const auto other = trees.plant();
  const auto kept = tell(trees, other, {1, 2, 3, 1, 2});
  const auto before = trees.nodes();
  const auto root = trees.plant();
  const auto text = tell(trees, root, random_text(random, 900, 4));
  const Cursor cursor = cursor_after(trees, root, {1});
  int calls = 1;
  while (!trees.fell(root, 50)) ++calls;
  trees.release(text);
  EXPECT_GT(calls, 3);
  EXPECT_EQ(trees.nodes(), before);
  EXPECT_EQ(trees.tokens(), 5);
  EXPECT_FALSE(trees.exists(cursor.root()));
  EXPECT_EQ(trees.fault_below(other), "");
  EXPECT_EQ(trees.end_of(kept).longest(), 2);
}

TEST(SuffixTrees, full_it_refuses_tokens_and_stays_whole) {
  SuffixTrees trees(100, 6);
  const auto root = trees.plant();
  const auto text = trees.begin(root);
  std::mt19937 random(9);
  int said = 0;
  while (trees.append(text, static_cast<Token>(random() % 3))) ++said;
  EXPECT_GE(said, 60);
  EXPECT_LE(said, 100);
  EXPECT_FALSE(trees.has_room());
  EXPECT_FALSE(trees.append(text, 1));
  EXPECT_EQ(trees.fault_below(root), "");
  while (!trees.fell(root, 1000)) continue;
  trees.release(text);
  EXPECT_TRUE(trees.has_room_for(50));
}

// As many nodes as there can be: neither does a text that repeats itself for ever.
TEST(SuffixTrees, one_word_said_for_ever_takes_few_nodes_and_bounded_tokens) {
  SuffixTrees trees(500, 6);
  const auto root = trees.plant();
  const auto text = trees.begin(root);
  int said = 0;
  while (trees.append(text, 1)) ++said;
  EXPECT_EQ(said, 500);
  EXPECT_LE(trees.nodes(), 10);
}

TEST(SuffixTrees, cleared_it_is_as_new) {
  SuffixTrees trees(500, 6);
  tell(trees, trees.plant(), {1, 2, 1, 2, 1});
  trees.clear();
  EXPECT_EQ(trees.nodes(), 0);
  EXPECT_EQ(trees.tokens(), 0);
  const auto root = trees.plant();
  EXPECT_TRUE(trees.is_bare(root));
  const auto text = tell(trees, root, {3, 4, 3});
  EXPECT_EQ(trees.end_of(text).longest(), 1);
  EXPECT_EQ(trees.fault_below(root), "");
}

TEST(SuffixTrees, what_cannot_be_is_refused) {
  EXPECT_THROW(SuffixTrees(1000, 1), Error);
  EXPECT_THROW(SuffixTrees(1000, kMostSuffixDepth + 1), Error);
  EXPECT_THROW(SuffixTrees(0, 24), Error);
  EXPECT_THROW(SuffixTrees(kMostSuffixTokens + 1, 24), Error);
}

}  // namespace
}  // namespace foretoken::suffix_trees_test
