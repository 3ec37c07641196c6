// Codes at their own bits against the dequantisation of the same blocks, of every type, bit by bit.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backend/block_row.h"
#include "backend/quantize.h"
#include "base/error.h"
#include "base/index.h"
#include "checkpoint/quantized/gguf_codes.h"

namespace foretoken {
namespace {

constexpr std::int64_t kRows = 3, kWidth = 512;

// Blocks of random bytes whose floats are numbers.
std::vector<std::byte> random_blocks(const GgufTypeInfo& type) {
  std::mt19937 random(static_cast<unsigned>(type.type));
  std::vector<std::byte> bytes(at(type.bytes_of(kRows * kWidth)));
  std::vector<float> floats(at(type.block_elements));
  for (std::size_t first = 0; first < bytes.size(); first += at(type.block_bytes)) {
    bool is_finite = false;
    while (!is_finite) {
      for (int i = 0; i < type.block_bytes; ++i)
        bytes[first + at(i)] = static_cast<std::byte>(random());
      if (type.type == GgufType::kMXFP4)  // scales that float16 has
        bytes[first] = static_cast<std::byte>(104 + random() % 40);
      type.dequantize(&bytes[first], type.block_elements, floats.data());
      is_finite = std::ranges::all_of(floats, [](float x) { return std::isfinite(x); });
    }
  }
  return bytes;
}

TEST(GgufCodes, stand_for_the_floats_of_their_blocks) {
  int types = 0;
  for (std::uint32_t number = 0; number < 64; ++number) {
    const GgufTypeInfo* type = gguf_type(number);
    if (type == nullptr || !type->is_read()) continue;
    const auto format = GgufCodes::format_of(type->type);
    ASSERT_EQ(format.has_value(), !type->is_float()) << type->name;
    if (!format) continue;
    ++types;
    WeightFormat exact = *format;
    exact.rounds_input = true;  // then nothing is rounded to bf16
    const std::vector<std::byte> bytes = random_blocks(*type);
    const GgufBlocks blocks{.type = type, .shape = {kRows, kWidth}, .data = bytes.data()};
    const GgufCodes codes(GgufRows(blocks), 1, kRows - 1);
    EXPECT_EQ(codes.rows(), kRows - 1);
    for (std::int64_t row = 0; row < codes.rows(); ++row) {
      std::vector<float> wanted(kWidth), found(kWidth);
      type->dequantize(blocks.row(row + 1), kWidth, wanted.data());
      if (format->is_blocked()) {
        OwnBlockRow own(exact, kWidth);
        codes.read_blocks(row, own.view());
        own.widen(found.data());
      } else {
        std::vector<std::uint8_t> stored(kWidth);
        std::vector<float> scales(at(format->groups(kWidth)));
        codes.read(row, stored.data(), scales.data(), nullptr);
        widen_row(exact, kWidth, stored.data(), scales.data(), nullptr, found.data());
      }
      for (std::int64_t k = 0; k < kWidth; ++k)
        ASSERT_EQ(found[at(k)], wanted[at(k)]) << type->name << ", row " << row << ", k " << k;
    }
  }
  EXPECT_EQ(types, 13);
}

TEST(GgufCodes, scales_of_mxfp4_that_are_too_small_are_0_and_too_large_ones_are_refused) {
  const GgufTypeInfo* type = gguf_type(39);
  std::vector<std::byte> bytes(17, std::byte{0x77});
  const GgufBlocks blocks{.type = type, .shape = {1, 32}, .data = bytes.data()};
  const GgufCodes codes(GgufRows(blocks), 0, 1);
  OwnBlockRow own(*GgufCodes::format_of(type->type), 32);
  std::vector<float> found(32);
  bytes[0] = std::byte{103};
  codes.read_blocks(0, own.view());
  own.widen(found.data());
  EXPECT_EQ(found[0], 0.0F);
  bytes[0] = std::byte{144};
  EXPECT_THROW(codes.read_blocks(0, own.view()), Error);
}

}  // namespace
}  // namespace foretoken
