#include "kv/page_pool.h"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(PagePool, hands_out_every_page_once_and_then_none) {
  PagePool pool(3);
  std::vector<Page> pages;
  std::map<PageId, int> seen;
  while (auto page = pool.take()) {
    ++seen[page->id()];
    pages.push_back(std::move(*page));
  }
  EXPECT_EQ(seen, (std::map<PageId, int>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(pool.num_free(), 0);
  pages.pop_back();
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(PagePool, a_page_is_free_when_its_last_handle_is_gone) {
  PagePool pool(1);
  auto first = *pool.take();
  {
    const Page second = first;
    EXPECT_EQ(first.owners(), 2);
    const Page moved = std::move(first);
    EXPECT_FALSE(first);  // NOLINT: a moved-from handle owns nothing
    EXPECT_EQ(first.owners(), 0);
    EXPECT_EQ(second.owners(), 2);
    EXPECT_FALSE(pool.take());
  }
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(PagePool, assigning_a_handle_to_itself_keeps_the_page) {
  PagePool pool(1);
  Page page = *pool.take();
  Page& same = page;
  page = same;
  EXPECT_EQ(page.owners(), 1);
  EXPECT_EQ(pool.check_integrity(), "");
}

TEST(PagePool, counts_agree_with_a_naive_model_under_random_operations) {
  std::mt19937 random(7);
  PagePool pool(8);
  std::vector<Page> handles;
  for (int i = 0; i < 20000; ++i) {
    const auto pick = handles.empty() ? 0 : random() % handles.size();
    switch (random() % 4) {
      case 0:
        if (auto page = pool.take())
          handles.push_back(std::move(*page));
        else
          EXPECT_EQ(pool.num_free(), 0);
        break;
      case 1:
        if (!handles.empty() && handles.size() < 40) handles.push_back(handles[pick]);
        break;
      case 2:
        if (!handles.empty()) handles[pick] = handles[random() % handles.size()];
        break;
      default:
        if (!handles.empty()) {
          std::swap(handles[pick], handles.back());
          handles.pop_back();
        }
    }
    std::map<PageId, int> owners;
    for (const Page& handle : handles) ++owners[handle.id()];
    ASSERT_EQ(pool.num_free(), 8 - static_cast<int>(owners.size()));
    for (const auto& [page, count] : owners) ASSERT_EQ(pool.owners(page), count);
    ASSERT_EQ(pool.check_integrity(), "");
  }
}

TEST(PagePoolDeathTest, a_handle_that_outlives_its_pool_is_a_bug) {
  EXPECT_DEATH(
      {
        Page left;
        PagePool pool(2);
        left = *pool.take();
      },
      "1 pages still have handles");
}

}  // namespace
}  // namespace foretoken
