// How much memory of the system the CPU's backend holds.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"

namespace foretoken {
namespace {

constexpr std::int64_t kFloats = std::int64_t{4} << 20;  // 16 MB

std::int64_t resident_pages(const Tensor& x) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> is_resident((x.bytes() + page - 1) / page);
  EXPECT_EQ(::mincore(x.data(), x.bytes(), is_resident.data()), 0);
  return std::ranges::count_if(is_resident, [](unsigned char found) { return (found & 1) != 0; });
}

TEST(HostMemory, what_is_allocated_is_taken_when_it_is_written) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "cpu"}, pool);
  const Tensor table = ops->alloc(DType::kF32, {kFloats});
  EXPECT_EQ(resident_pages(table), 0);
  table.f32()[kFloats / 2] = 1.0F;
  EXPECT_GT(resident_pages(table), 0);
  EXPECT_EQ(table.f32()[kFloats - 1], 0.0F);
}

TEST(HostMemory, scratch_is_there_again_after_it_was_given_back) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "cpu"}, pool);
  ops->temp(DType::kF32, {kFloats}).f32()[0] = 1.0F;
  const std::size_t most = ops->most_step_bytes();
  ops->release_scratch();
  const Tensor again = ops->temp(DType::kF32, {kFloats});
  EXPECT_EQ(resident_pages(again), 0);
  again.f32()[kFloats - 1] = 1.0F;
  EXPECT_EQ(ops->most_step_bytes(), most);
}

}  // namespace
}  // namespace foretoken
