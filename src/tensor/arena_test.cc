#include "tensor/arena.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Arena, tensors_are_aligned_and_do_not_overlap) {
  Arena arena(1024);
  const Tensor a = arena.alloc(DType::kF32, {3});
  const Tensor b = arena.alloc(DType::kBF16, {5, 7});
  const Tensor c = arena.alloc(DType::kF32, {1000});  // larger than a block
  for (const Tensor& x : {a, b, c}) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % 64, 0U);
  for (int i = 0; i < 3; ++i) a.f32()[i] = 1.0F;
  for (int i = 0; i < 35; ++i) b.bits16()[i] = 2;
  for (int i = 0; i < 1000; ++i) c.f32()[i] = 3.0F;
  EXPECT_EQ(a.f32()[2], 1.0F);
  EXPECT_EQ(b.bits16()[34], 2);
}

TEST(Arena, reset_reuses_the_same_memory) {
  Arena arena(1024);
  auto step = [&] {
    arena.reset();
    void* first = arena.alloc(DType::kF32, {100}).data();
    arena.alloc(DType::kF32, {200});
    arena.alloc(DType::kF32, {50});
    return first;
  };
  step();  // the first one does not know yet what is needed
  void* first = step();
  const std::size_t reserved = arena.reserved_bytes();
  EXPECT_GT(reserved, 0U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(step(), first);
  EXPECT_EQ(arena.reserved_bytes(), reserved);
}

// The least and the most, up and down, and a tensor more or less: whatever the order, no more is
// kept than the largest step needs.
TEST(Arena, keeps_no_more_than_the_largest_step_needs) {
  constexpr std::size_t kBlock = 4096, kSmallPage = 4096;
  Arena arena(kBlock);
  std::size_t most = 0;
  const auto step = [&](int rows) {
    arena.reset();
    std::size_t bytes = 0;
    for (const std::int64_t width : {16, 700, 48, 3000}) {
      arena.alloc(DType::kF32, {rows, width});
      bytes += static_cast<std::size_t>(rows * width) * sizeof(float);
    }
    most = std::max(most, bytes);
  };
  const auto rest = [&] {
    arena.reset();
    arena.alloc(DType::kF32, {1});
    return arena.reserved_bytes();
  };
  for (int round = 0; round < 3; ++round) {
    for (int rows = 1; rows <= 64; ++rows) {
      step(rows);
      // While it grows, what did not fit lies beside what did.
      EXPECT_LE(arena.reserved_bytes(), 3 * most + kBlock) << rows << " rows";
      EXPECT_LE(rest(), most + most / 4 + kBlock + kSmallPage) << rows << " rows";
    }
    for (const int rows : {64, 3, 17, 64, 1, 40}) step(rows);
    EXPECT_LE(rest(), most + most / 4 + kBlock + kSmallPage);
  }
  EXPECT_EQ(arena.most_bytes(), most);
}

TEST(Arena, grows_by_a_quarter_where_little_was_missing_and_else_to_what_was_used) {
  Arena arena(8192);
  const auto kept_after = [&](std::int64_t floats) {
    arena.alloc(DType::kF32, {1280});  // 5120 bytes
    arena.alloc(DType::kF32, {floats});
    arena.reset();
    arena.alloc(DType::kF32, {1});
    const std::size_t kept = arena.reserved_bytes();
    arena.reset();
    return kept;
  };
  EXPECT_EQ(kept_after(800), 8320U);   // all that was used, no less
  EXPECT_EQ(kept_after(832), 10400U);  // 8448 were used
  EXPECT_EQ(kept_after(6400), 30720U);
}

TEST(Arena, a_step_as_large_as_one_before_asks_the_system_for_nothing) {
  Arena arena(1024);
  const auto step = [&](int rows) {
    arena.reset();
    arena.alloc(DType::kF32, {rows, 500});
    void* last = arena.alloc(DType::kF32, {rows, 300}).data();
    return std::pair(last, arena.reserved_bytes());
  };
  step(64);
  const auto [last, reserved] = step(64);
  step(3);
  EXPECT_EQ(step(64), std::pair(last, reserved));
}

TEST(Arena, what_came_after_a_mark_can_be_given_back) {
  Arena arena(1024);
  const Tensor kept = arena.alloc(DType::kF32, {10});
  kept.f32()[9] = 1.0F;
  const Arena::Mark mark = arena.mark();
  void* first = arena.alloc(DType::kF32, {20}).data();
  arena.alloc(DType::kF32, {1000});  // in a block of its own
  const std::size_t most = arena.most_bytes(), reserved = arena.reserved_bytes();
  for (int slice = 0; slice < 5; ++slice) {
    arena.release(mark);
    EXPECT_EQ(arena.alloc(DType::kF32, {20}).data(), first);
    arena.alloc(DType::kF32, {1000}).f32()[0] = 2.0F;
  }
  EXPECT_EQ(kept.f32()[9], 1.0F);
  EXPECT_EQ(arena.most_bytes(), most);
  EXPECT_EQ(arena.reserved_bytes(), reserved);
}

TEST(Arena, shrinking_gives_all_memory_back) {
  Arena arena(1024);
  for (const std::int64_t elements : {10, 5000}) arena.alloc(DType::kF32, {elements});
  const std::size_t most = arena.most_bytes();
  arena.shrink();
  EXPECT_EQ(arena.reserved_bytes(), 0U);
  EXPECT_EQ(arena.most_bytes(), most);
  arena.alloc(DType::kF32, {10}).f32()[9] = 1.0F;
  EXPECT_EQ(arena.reserved_bytes(), 1024U);
}

TEST(Arena, without_memory_it_stays_as_it_was) {
  Arena arena(1024);
  void* first = arena.alloc(DType::kF32, {10}).data();
  EXPECT_THROW(arena.alloc(DType::kF32, {std::int64_t{1} << 55}), Error);
  EXPECT_EQ(static_cast<std::byte*>(first) + 64, arena.alloc(DType::kF32, {10}).data());
  arena.reset();
  EXPECT_EQ(arena.alloc(DType::kF32, {10}).data(), first);
}

TEST(Arena, an_empty_tensor_has_an_address) {
  Arena arena;
  EXPECT_FALSE(arena.alloc(DType::kF32, {0, 8}).empty());
}

}  // namespace
}  // namespace foretoken
