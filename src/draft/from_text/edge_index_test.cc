#include "draft/from_text/edge_index.h"

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace foretoken {
namespace {

// As an owner has them: each node has one parent and one token. Few hashes, so that entries meet.
class Nodes {
 public:
  Nodes(std::size_t capacity, std::uint32_t hashes) : index_(capacity), hashes_(hashes) {}

  void add() {
    const EdgeIndex::Id id = ++last_;
    const EdgeIndex::Hash hash = hash_of(id);
    EXPECT_EQ(find(hash, id), 0U);
    index_.insert(hash, id);
    held_.push_back(id);
  }
  void remove(std::size_t place) {
    const EdgeIndex::Id id = held_[place];
    index_.erase(hash_of(id), id);
    held_[place] = held_.back();
    held_.pop_back();
    EXPECT_EQ(find(hash_of(id), id), 0U);
  }
  void check_all() const {
    for (const EdgeIndex::Id id : held_) {
      ASSERT_EQ(find(hash_of(id), id), id);
      ASSERT_NE(index_.guess(hash_of(id)), 0U);
    }
  }
  void clear() {
    index_.clear();
    for (const EdgeIndex::Id id : held_) ASSERT_EQ(find(hash_of(id), id), 0U);
    held_.clear();
  }
  std::size_t size() const { return held_.size(); }

 private:
  EdgeIndex::Hash hash_of(EdgeIndex::Id id) const {
    return EdgeIndex::hash_of(id % hashes_, static_cast<Token>(id % 7));
  }
  EdgeIndex::Id find(EdgeIndex::Hash hash, EdgeIndex::Id id) const {
    return index_.find(hash, [id](EdgeIndex::Id one) { return one == id; });
  }

  EdgeIndex index_;
  const std::uint32_t hashes_;
  EdgeIndex::Id last_ = 0;
  std::vector<EdgeIndex::Id> held_;
};

TEST(EdgeIndex, finds_what_is_there_and_nothing_else_while_it_grows) {
  for (const std::size_t capacity : {3UL, 2'000UL, 3'000UL, 40'000UL, 100'000UL})
    for (const std::uint32_t hashes : {1U << 30, 50'000U}) {
      Nodes nodes(capacity, hashes);
      std::mt19937 random(7);
      std::size_t next_check = 1;
      while (nodes.size() < capacity) {
        nodes.add();
        if (nodes.size() > 1 && random() % 4 == 0) nodes.remove(random() % nodes.size());
        if (nodes.size() < next_check) continue;
        nodes.check_all();
        next_check = nodes.size() + nodes.size() / 3 + 1;
      }
      nodes.check_all();
      for (int i = 0; i < 2000; ++i) {
        nodes.remove(random() % nodes.size());
        nodes.add();
      }
      nodes.check_all();
    }
}

TEST(EdgeIndex, what_leaves_an_old_table_does_not_come_back) {
  Nodes nodes(20'000, 1U << 30);
  const auto grows_at = std::size_t{1} << 12;
  while (nodes.size() < grows_at / 4 + 2) nodes.add();
  for (std::size_t left = nodes.size(); left > 10; --left) nodes.remove(left / 2);
  nodes.check_all();
  while (nodes.size() < 20'000) nodes.add();
  nodes.check_all();
}

TEST(EdgeIndex, is_empty_once_cleared_at_any_size) {
  Nodes nodes(50'000, 1U << 30);
  for (const std::size_t size : {10UL, 1'030UL, 5'000UL, 50'000UL}) {
    while (nodes.size() < size) nodes.add();
    nodes.check_all();
    nodes.clear();
  }
  while (nodes.size() < 50'000) nodes.add();
  nodes.check_all();
}

// Pages of this process that are in memory.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(GiveBack, memory_is_zeros_and_the_systems_again) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Buffer memory(kBytes);
  std::memset(memory.data(), 1, kBytes);
  const std::size_t full = resident_bytes();
  give_back(memory);
  EXPECT_LT(resident_bytes() + kBytes / 2, full);
  EXPECT_EQ(static_cast<const char*>(memory.data())[kBytes - 1], 0);
}

}  // namespace
}  // namespace foretoken
