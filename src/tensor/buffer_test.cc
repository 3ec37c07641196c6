#include "tensor/buffer.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::uintptr_t address(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data());
}

TEST(Buffer, memory_is_zeroed_and_writable_to_its_last_byte) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    Buffer buffer(bytes);
    auto* data = static_cast<unsigned char*>(buffer.data());
    EXPECT_EQ(buffer.bytes(), bytes);
    EXPECT_EQ(data[0], 0);
    EXPECT_EQ(data[bytes - 1], 0);
    data[bytes - 1] = 1;
    EXPECT_EQ(address(buffer) % 64, 0U);
  }
}

TEST(Buffer, large_buffers_start_on_a_huge_page) {
  const Buffer buffer((std::size_t{2} << 20) + 1);
  EXPECT_EQ(address(buffer) % (std::size_t{2} << 20), 0U);
}

TEST(Buffer, moving_hands_over_the_memory) {
  Buffer a(100);
  void* data = a.data();
  Buffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
  Buffer c;
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.bytes(), 100U);
}

bool is_mapped(void* page) {
  unsigned char resident = 0;
  errno = 0;
  return mincore(page, 1, &resident) == 0 || errno != ENOMEM;
}

TEST(Buffer, memory_goes_back_to_the_system) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  void *small = nullptr, *large = nullptr;
  {
    const Buffer a(100), b(2 * kHuge);
    small = a.data();
    large = b.data();
    EXPECT_TRUE(is_mapped(small));
    EXPECT_TRUE(is_mapped(static_cast<char*>(large) + 2 * kHuge - 4096));
  }
  EXPECT_FALSE(is_mapped(small));
  EXPECT_FALSE(is_mapped(large));
}

TEST(Buffer, an_empty_buffer_has_no_memory) { EXPECT_EQ(Buffer(0).data(), nullptr); }

TEST(Buffer, more_than_the_address_space_is_an_error) {
  EXPECT_THROW(Buffer(std::size_t{1} << 60), Error);
  errno = 0;
  try {
    const Buffer none(SIZE_MAX);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(std::strerror(ENOMEM)), std::string::npos);
  }
}

TEST(BufferDeath, a_view_that_does_not_fit_is_a_bug) {
  const Buffer buffer(64);
  EXPECT_EQ(buffer.view(DType::kF32, {4, 4}).data(), buffer.data());
  EXPECT_DEATH(buffer.view(DType::kF32, {17}), "float32 \\[17\\] in a buffer of 64 bytes");
}

}  // namespace
}  // namespace foretoken
