#include "draft/from_text/ngram/ngram_trie.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

using Cursor = NgramTrie::Cursor;
using Tokens = std::vector<Token>;

Cursor cursor_in(std::uint64_t scope) {
  Cursor cursor;
  cursor.start(scope);
  return cursor;
}

void append_all(NgramTrie& trie, Cursor& cursor, const Tokens& tokens) {
  for (const Token token : tokens) trie.append(cursor, token);
}

// The runs below a node with how often they occurred, children newest first.
struct Node {
  Token token = 0;
  std::uint32_t count = 0;
  std::vector<Node> children;
  bool operator==(const Node&) const = default;
};

std::vector<Node> below(const NgramTrie& trie, NgramTrie::Id id) {
  std::vector<Node> children;
  for (NgramTrie::Id child = trie.first_child(id); child != 0; child = trie.next_sibling(child))
    children.push_back({trie.token(child), trie.count(child), below(trie, child)});
  return children;
}

// The same by the definition: all runs of all texts, looked at anew each time.
class NaiveTrie {
 public:
  explicit NaiveTrie(int max_depth) : max_depth_(max_depth) {}

  void append(std::uint64_t scope, Tokens& text, Token token) {
    text.push_back(token);
    ++now_;
    for (std::size_t n = 1; n <= std::min<std::size_t>(text.size(), at(max_depth_)); ++n) {
      Facts& facts = runs_[scope][Tokens(text.end() - static_cast<std::ptrdiff_t>(n), text.end())];
      ++facts.count;
      facts.last = now_;
    }
  }
  std::vector<Node> below(std::uint64_t scope, const Tokens& run = {}) {
    std::vector<std::pair<int, Node>> found;
    for (const auto& [other, facts] : runs_[scope])
      if (other.size() == run.size() + 1 && std::equal(run.begin(), run.end(), other.begin()))
        found.push_back({facts.last, {other.back(), facts.count, below(scope, other)}});
    std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Node> children;
    for (auto& [last, node] : found) children.push_back(std::move(node));
    return children;
  }

 private:
  struct Facts {
    std::uint32_t count = 0;
    int last = 0;
  };
  int max_depth_;
  int now_ = 0;
  std::map<std::uint64_t, std::map<Tokens, Facts>> runs_;
};

TEST(NgramTrie, all_runs_are_counted_and_the_newest_come_first) {
  NgramTrie trie(1000, 3);
  Cursor cursor = cursor_in(0);
  append_all(trie, cursor, {1, 2, 1, 3});
  const std::vector<Node> expected{
      {3, 1, {}}, {1, 2, {{3, 1, {}}, {2, 1, {{1, 1, {}}}}}}, {2, 1, {{1, 1, {{3, 1, {}}}}}}};
  EXPECT_EQ(below(trie, trie.at_end(cursor, 0)), expected);
  EXPECT_EQ(trie.check_integrity(), "");
}

TEST(NgramTrie, it_agrees_with_the_definition_whatever_texts_grow_side_by_side) {
  for (const int max_depth : {2, 3, 5}) {
    NgramTrie trie(20'000, max_depth);
    NaiveTrie naive(max_depth);
    std::mt19937 random(7);
    std::vector<Cursor> cursors;
    std::vector<Tokens> texts(6);
    const auto scope_of = [](std::size_t i) { return i % 3 + (std::uint64_t{i % 2} << 40); };
    for (std::size_t i = 0; i < texts.size(); ++i) cursors.push_back(cursor_in(scope_of(i)));
    for (int i = 0; i < 600; ++i) {
      const std::size_t which = random() % texts.size();
      if (random() % 40 == 0) {
        texts[which].clear();
        cursors[which].start(scope_of(which));
      }
      const auto token = static_cast<Token>(random() % 5);
      trie.append(cursors[which], token);
      naive.append(scope_of(which), texts[which], token);
    }
    ASSERT_EQ(trie.check_integrity(), "");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      append_all(trie, cursors[i], {4});
      naive.append(scope_of(i), texts[i], 4);
      ASSERT_EQ(below(trie, trie.at_end(cursors[i], 0)), naive.below(scope_of(i)));
    }
  }
}

TEST(NgramTrie, the_end_of_a_text_is_known_by_all_its_lengths) {
  NgramTrie trie(1000, 4);
  Cursor cursor = cursor_in(9);
  append_all(trie, cursor, {5, 6, 7, 8, 9});
  for (int length = 1; length <= 4; ++length) {
    const NgramTrie::Id id = trie.at_end(cursor, length);
    ASSERT_NE(id, 0U);
    EXPECT_EQ(trie.token(id), 9);
  }
  Cursor fresh = cursor_in(9);
  EXPECT_EQ(trie.at_end(fresh, 1), 0U);
  trie.append(fresh, 7);
  EXPECT_NE(trie.at_end(fresh, 1), 0U);
  EXPECT_EQ(trie.at_end(fresh, 2), 0U);
}

TEST(NgramTrie, scopes_share_no_runs) {
  NgramTrie trie(1000, 4);
  Cursor mine = cursor_in(1), yours = cursor_in(std::uint64_t{1} << 32);
  append_all(trie, mine, {1, 2, 3});
  append_all(trie, yours, {1});
  EXPECT_EQ(trie.first_child(trie.at_end(yours, 1)), 0U);
  Cursor also_mine = cursor_in(1);
  append_all(trie, also_mine, {1});
  EXPECT_NE(trie.first_child(trie.at_end(also_mine, 1)), 0U);
}

TEST(NgramTrie, full_it_keeps_the_newest_runs_and_stays_whole) {
  constexpr int kDepth = 6;
  NgramTrie trie(300, kDepth);
  Cursor cursor = cursor_in(0);
  Tokens text;
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    text.push_back(static_cast<Token>(random() % 1000));
    trie.append(cursor, text.back());
    ASSERT_LE(trie.size(), 299);
    for (int length = 1; length <= std::min(kDepth, i + 1); ++length)
      ASSERT_NE(trie.at_end(cursor, length), 0U) << "after " << i << " tokens";
    if (i % 100 == 0) {
      ASSERT_EQ(trie.check_integrity(), "") << "after " << i << " tokens";
    }
  }
  EXPECT_EQ(trie.size(), 299);
  // What was said last, except for the last runs, can be read again.
  Cursor again = cursor_in(0);
  append_all(trie, again, {text[2990]});
  const NgramTrie::Id next = trie.first_child(trie.at_end(again, 1));
  ASSERT_NE(next, 0U);
  EXPECT_EQ(trie.token(next), text[2991]);
}

TEST(NgramTrie, what_is_met_again_and_again_outlives_what_was_met_once) {
  constexpr int kDepth = 4;
  NgramTrie trie(200, kDepth);
  Cursor cursor = cursor_in(0);
  Token fresh = 100;
  for (int i = 0; i < 400; ++i) {
    append_all(trie, cursor, {1, 2, 3, 4});
    for (int j = 0; j < 4; ++j) trie.append(cursor, fresh++);
  }
  ASSERT_EQ(trie.check_integrity(), "");
  Cursor probe = cursor_in(0);
  append_all(trie, probe, {1, 2, 3});
  const NgramTrie::Id next = trie.first_child(trie.at_end(probe, 3));
  ASSERT_NE(next, 0U);
  EXPECT_EQ(trie.token(next), 4);
  EXPECT_GT(trie.count(next), 100U);
}

TEST(NgramTrie, random_texts_in_many_scopes_never_break_a_small_one) {
  for (const std::int64_t capacity : {8, 9, 20, 150}) {
    NgramTrie trie(capacity, 4);
    std::mt19937 random(static_cast<unsigned>(capacity));
    std::vector<Cursor> cursors(5);
    for (int i = 0; i < 4000; ++i) {
      Cursor& cursor = cursors[random() % cursors.size()];
      if (random() % 30 == 0) cursor.start(random() % 7);
      trie.append(cursor, static_cast<Token>(random() % (i % 2 == 0 ? 3 : 50)));
      if (i % 50 == 0) {
        ASSERT_EQ(trie.check_integrity(), "") << capacity << ", step " << i;
      }
    }
  }
}

TEST(NgramTrie, a_cursor_survives_the_end_of_what_it_points_at) {
  NgramTrie trie(60, 4);
  Cursor idle = cursor_in(1), busy = cursor_in(2);
  append_all(trie, idle, {1, 2, 3, 4});
  for (Token token = 0; token < 200; ++token) trie.append(busy, token);
  for (int length = 0; length <= 4; ++length) EXPECT_EQ(trie.at_end(idle, length), 0U);
  append_all(trie, idle, {5, 6});
  EXPECT_EQ(trie.token(trie.at_end(idle, 2)), 6);
  EXPECT_EQ(trie.at_end(idle, 3), 0U);
  EXPECT_EQ(trie.check_integrity(), "");
}

TEST(NgramTrie, cleared_it_is_as_new) {
  NgramTrie trie(1000, 4);
  Cursor cursor = cursor_in(1);
  append_all(trie, cursor, {1, 2, 3});
  trie.clear();
  EXPECT_EQ(trie.size(), 0);
  EXPECT_EQ(trie.at_end(cursor, 1), 0U);
  append_all(trie, cursor, {2});
  EXPECT_EQ(below(trie, trie.at_end(cursor, 0)), (std::vector<Node>{{2, 1, {}}}));
  EXPECT_EQ(trie.check_integrity(), "");
}

TEST(NgramTrie, what_cannot_be_is_refused) {
  EXPECT_THROW(NgramTrie(1000, 1), Error);
  EXPECT_THROW(NgramTrie(1000, kMostNgramDepth + 1), Error);
  EXPECT_THROW(NgramTrie(18 + 3, 18), Error);
  EXPECT_NO_THROW(NgramTrie(18 + 4, 18));
  EXPECT_THROW(NgramTrie(kMostNgramNodes + 1, 18), Error);
}

}  // namespace
}  // namespace foretoken
