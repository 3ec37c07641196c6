#include "tensor/arena.h"

#include <cstdint>

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
  void* first = step();
  const std::size_t reserved = arena.reserved_bytes();
  EXPECT_GT(reserved, 0U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(step(), first);
  EXPECT_EQ(arena.reserved_bytes(), reserved);
}

TEST(Arena, an_empty_tensor_has_an_address) {
  Arena arena;
  EXPECT_FALSE(arena.alloc(DType::kF32, {0, 8}).empty());
}

}  // namespace
}  // namespace foretoken
