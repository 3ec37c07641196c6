#pragma once
// Matrices of codes made up, for tests of products: of plain codes, and of blocks. For tests only.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "backend/weight_format.h"
#include "base/index.h"
#include "tensor/float16.h"
#include "tensor/float8.h"

namespace foretoken {

// The formats of GGUF's blocks, and one that only experts have.
struct BlockKind {
  const char* name;
  WeightFormat format;
};
inline const std::vector<BlockKind>& block_kinds() {
  static const auto of = [](int bits, std::int64_t group, int super, bool minima,
                            CodeList list = CodeList::kNone) {
    return WeightFormat{.bits = bits,
                        .group = group,
                        .scale = DType::kF16,
                        .super = super,
                        .has_minima = minima,
                        .list = list};
  };
  static const std::vector<BlockKind> all = {{"Q4_1", of(4, 32, 0, true)},
                                             {"Q5_0", of(5, 32, 0, false)},
                                             {"Q5_1", of(5, 32, 0, true)},
                                             {"Q2_K", of(2, 16, 256, true)},
                                             {"Q3_K", of(3, 16, 256, false)},
                                             {"Q4_K", of(4, 32, 256, true)},
                                             {"Q5_K", of(5, 32, 256, true)},
                                             {"Q6_K", of(6, 16, 256, false)},
                                             {"IQ4_NL", of(4, 32, 0, false, CodeList::kIq4Nl)},
                                             {"IQ4_XS", of(4, 32, 256, false, CodeList::kIq4Nl)},
                                             {"MXFP4", of(4, 32, 0, false, CodeList::kE2M1)}};
  return all;
}

// Rows made up: those of one number always the same.
class RandomBlocks final : public CodedRows {
 public:
  RandomBlocks(const WeightFormat& format, std::int64_t rows, std::int64_t width)
      : format_(format), rows_(rows), width_(width) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t width() const override { return width_; }
  void read(std::int64_t, std::uint8_t*, float*, std::uint8_t*) const override { FAIL(); }
  void read_blocks(std::int64_t row, const BlockRow& to) const override {
    std::mt19937 random(static_cast<unsigned>(row) * 7 + 1);
    const auto number = [&](int from, int to) {
      return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
    };
    const auto half = [&] {
      const float value = std::ldexp(static_cast<float>(number(-1000, 1000)), number(-20, -14));
      return f16_to_f32(f32_to_f16(value));
    };
    for (std::int64_t k = 0; k < width_; ++k)
      to.codes[k] = static_cast<std::uint8_t>(number(0, (1 << format_.bits) - 1));
    const std::int64_t groups = format_.groups(width_);
    const std::int64_t scales = format_.super > 0 ? width_ / format_.super : groups;
    for (std::int64_t i = 0; i < scales; ++i) {
      to.scales[i] = half();
      if (format_.has_minima) to.minima[i] = half();
    }
    if (format_.super == 0) return;
    const bool is_unsigned = format_.has_minima;
    const int most = format_.bits == 2 ? 15 : is_unsigned ? 63 : 127;
    for (std::int64_t g = 0; g < groups; ++g) {
      to.multiples[g] = static_cast<std::int8_t>(number(is_unsigned ? 0 : -128, most));
      if (format_.has_minima) to.min_multiples[g] = static_cast<std::int8_t>(number(0, most));
    }
  }

 private:
  WeightFormat format_;
  std::int64_t rows_, width_;
};

// Codes made up, with zero points and an order of columns where the format has them.
class RandomRows final : public CodedRows {
 public:
  RandomRows(const WeightFormat& format, std::int64_t rows, std::int64_t width, std::uint64_t seed)
      : format_(format), rows_(rows), width_(width) {
    std::mt19937_64 random(seed);
    const auto most = (1U << static_cast<unsigned>(format.bits)) - 1U;
    const std::int64_t groups = format.groups(width);
    for (std::int64_t i = 0; i < rows * width; ++i) {
      codes_.push_back(static_cast<std::uint8_t>(random() & most));
      if (format.is_float && is_nan_e4m3(codes_.back())) codes_.back() = 0x80;
    }
    for (std::int64_t i = 0; i < rows * groups; ++i) {
      const float scale = std::ldexp(1.0F + static_cast<float>(random() % 1000) / 1000.0F,
                                     static_cast<int>(random() % 8) - 9);
      const float sign = random() % 4 == 0 ? -1.0F : 1.0F;
      scales_.push_back(format.scale == DType::kBF16  ? bf16_to_f32(f32_to_bf16(sign * scale))
                        : format.scale == DType::kF16 ? f16_to_f32(f32_to_f16(sign * scale))
                                                      : sign * scale);
      zeros_.push_back(static_cast<std::uint8_t>(random() & most));
    }
    if (format.has_column_order) {
      order_.resize(at(width));
      std::iota(order_.begin(), order_.end(), 0);
      std::ranges::shuffle(order_, random);
    }
  }
  void set_scale(std::int64_t row, std::int64_t group, float scale) {
    scales_[at(row * format_.groups(width_) + group)] = scale;
  }
  std::int64_t rows() const override { return rows_; }
  std::int64_t width() const override { return width_; }
  std::span<const std::int32_t> column_order() const override { return order_; }
  void read(std::int64_t row, std::uint8_t* codes, float* scales,
            std::uint8_t* zeros) const override {
    const std::int64_t groups = format_.groups(width_);
    std::memcpy(codes, &codes_[at(row * width_)], at(width_));
    std::memcpy(scales, &scales_[at(row * groups)], at(groups) * sizeof(float));
    if (zeros != nullptr) std::memcpy(zeros, &zeros_[at(row * groups)], at(groups));
  }

 private:
  WeightFormat format_;
  std::int64_t rows_, width_;
  std::vector<std::uint8_t> codes_, zeros_;
  std::vector<float> scales_;
  std::vector<std::int32_t> order_;
};

}  // namespace foretoken
