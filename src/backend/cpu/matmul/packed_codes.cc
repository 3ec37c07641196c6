// CpuLinear of weights that are codes: their layout (kernels.h), packed row by row.

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/cpu/matmul/packed_linear.h"
#include "backend/cpu/table/kernels.h"
#include "backend/quantize.h"
#include "base/index.h"
#include "tensor/float16.h"
#include "tensor/float8.h"

namespace foretoken {
namespace {

int scale_bytes(CodeScale scale) { return scale == CodeScale::kF32 ? 4 : 2; }

CodeLayout layout_of(const WeightFormat& format, std::int64_t width, Layout wanted) {
  CHECK(format.bits == 8 || format.bits == 4) << "codes of " << format.bits << " bits";
  CHECK(!format.is_float || (format.bits == 8 && !format.has_zero_points && !format.rounds_input));
  CHECK(format.group % WeightFormat::kGroupStep == 0) << "groups of " << format.group;
  CodeLayout c = {};
  c.bits = format.bits;
  c.groups = static_cast<int>(format.groups(width));
  c.group = static_cast<int>(format.group == 0 ? round_up(width, kCodeStepK) : format.group);
  c.step = c.group % kCodeStepK == 0 ? kCodeStepK : kCodeStepK / 2;
  c.scale = format.scale == DType::kBF16  ? CodeScale::kBF16
            : format.scale == DType::kF16 ? CodeScale::kF16
                                          : CodeScale::kF32;
  c.is_float = format.is_float;
  if (wanted != Layout::kDots && !format.rounds_input)
    c.layout = c.is_float && c.step == kCodeStepK ? Layout::kTable : Layout::kTiles;
  c.scales_at = c.group * kBlockCols * c.bits / 8;
  const int end = c.scales_at + kBlockCols * scale_bytes(c.scale);
  c.zeros_at = format.has_zero_points ? end : 0;
  c.unit_bytes = round_up(end + (format.has_zero_points ? kBlockCols * 2 : 0), 64);
  return c;
}

// Where the code at k = 0 of the column lies in a step of a unit. Its codes follow as words of four
// or eight, a line apart.
std::int64_t place_in_step(const CodeLayout& c, int step, int col) {
  const std::int64_t half_bytes = std::int64_t{c.step} * 2 * c.bits;
  return (2 * step + col / 16) * half_bytes + col % 16 * 4;
}

// The byte of a unit that is laid out for tiles in which a code lies, from which bit on, and which
// bits of it are stored turned.
struct TilePlace {
  std::int64_t byte;
  unsigned shift, turned;
};
TilePlace place_for_tiles(const CodeLayout& c, int k, int col) {
  const std::int64_t block = k / kBlockK;
  const int inside = k % kBlockK;
  if (c.layout == Layout::kTable) {
    const std::int64_t line = k / kCodeStepK * kBlockCols + col;
    return {line * kCodeStepK + inside / 8 * 16 + block % 2 * 8 + inside % 8, 0, 0};
  }
  if (c.bits == 4) {
    constexpr int kLines = kBlockCols / 4;
    return {(block * kLines + col / 4) * 64 + inside * 2 + col % 4 / 2, col % 2 * 4U, 0};
  }
  const std::int64_t row = (block * 2 + col / 16) * (kBlockK / 2) + inside / 2;
  return {row * 32 + col % 16 * 2 + inside % 2, 0, c.is_float ? 0 : 0x80U};
}
// Inside a block of K codes of 4 bits are every other byte, and those of 8 bits pairs a row apart
// or, by table, eights with room for as many between them.
void put_tile_codes(const CodeLayout& c, char* unit, int col, const std::uint8_t* codes) {
  constexpr int kRowBytes = 32;
  for (int k = 0; k < c.group; k += kBlockK) {
    const auto [byte, shift, turned] = place_for_tiles(c, k, col);
    char* const to = unit + byte;
    if (c.bits == 4) {
      for (int i = 0; i < kBlockK; ++i)
        to[2 * i] = static_cast<char>(static_cast<std::uint8_t>(to[2 * i]) | codes[k + i] << shift);
      continue;
    }
    if (c.layout == Layout::kTable) {
      for (int i = 0; i < kBlockK; i += 8) std::memcpy(to + 2 * i, codes + k + i, 8);
      continue;
    }
    for (int i = 0; i < kBlockK; i += 2) {
      std::uint16_t pair = 0;
      std::memcpy(&pair, codes + k + i, sizeof pair);
      pair ^= static_cast<std::uint16_t>(turned * 0x101U);
      std::memcpy(to + i / 2 * kRowBytes, &pair, sizeof pair);
    }
  }
}

// The codes [c.group] of a column of a unit. Of eight codes in a word the second four are the high
// halves of bytes.
void put_codes(const CodeLayout& c, char* unit, int col, const std::uint8_t* codes) {
  if (c.layout != Layout::kDots) return put_tile_codes(c, unit, col, codes);
  for (int step = 0; step < c.group / c.step; ++step) {
    char* line = unit + place_in_step(c, step, col);
    for (int k = 0; k < c.step; k += 32 / c.bits, line += 64, codes += 32 / c.bits) {
      std::uint32_t word = 0, high = 0;
      std::memcpy(&word, codes, sizeof word);
      if (c.bits == 4) std::memcpy(&high, codes + 4, sizeof high);
      word |= high << 4U;
      std::memcpy(line, &word, sizeof word);
    }
  }
}

std::uint8_t get_code(const CodeLayout& c, const char* unit, int k, int col) {
  if (c.layout != Layout::kDots) {
    const auto [byte, shift, turned] = place_for_tiles(c, k, col);
    const unsigned mask = c.bits == 4 ? 15U : 255U;
    const unsigned code = static_cast<std::uint8_t>(unit[byte]) >> shift & mask;
    return static_cast<std::uint8_t>(code ^ turned);
  }
  const int line_k = 32 / c.bits, inside = k % c.step;
  const char* line = unit + place_in_step(c, k / c.step, col) + inside / line_k * 64;
  const auto byte = static_cast<std::uint8_t>(line[inside % 4]);
  if (c.bits == 8) return byte;
  return inside % line_k >= 4 ? byte >> 4U : byte & 15U;
}

void put_scale(const CodeLayout& c, char* unit, int col, float scale) {
  char* to = unit + c.scales_at + col * scale_bytes(c.scale);
  const std::uint16_t bits = c.scale == CodeScale::kBF16 ? f32_to_bf16(scale) : f32_to_f16(scale);
  if (c.scale == CodeScale::kF32)
    std::memcpy(to, &scale, sizeof scale);
  else
    std::memcpy(to, &bits, sizeof bits);
}

float get_scale(const CodeLayout& c, const char* unit, int col) {
  const char* from = unit + c.scales_at + col * scale_bytes(c.scale);
  float scale = 0;
  std::uint16_t bits = 0;
  if (c.scale == CodeScale::kF32) {
    std::memcpy(&scale, from, sizeof scale);
    return scale;
  }
  std::memcpy(&bits, from, sizeof bits);
  return c.scale == CodeScale::kBF16 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

}  // namespace

void CpuLinear::lay_out_codes(Layout wanted) {
  if (format_.is_blocked()) return lay_out_blocks();
  codes_ = layout_of(format_, in_, wanted);
  block_cols_ = kBlockCols;
  packed_k_ = std::int64_t{codes_.group} * codes_.groups;
  block_bytes_ = std::int64_t{codes_.unit_bytes} * codes_.groups;
}

void CpuLinear::pack_codes(const LinearParts& parts, ThreadPool& pool) {
  if (format_.is_blocked()) return pack_blocks(parts, pool);
  std::vector<std::unique_ptr<CodedRows>> made;
  std::vector<const CodedRows*> rows(parts.codes.begin(), parts.codes.end());
  for (const Tensor& part : parts.weights) {
    made.push_back(std::make_unique<QuantizedRows>(part, format_));
    rows.push_back(made.back().get());
  }
  const std::int64_t blocks = ceil_div(out_, kBlockCols);
  pool.parallel_for(static_cast<int>(blocks), [&](int b, int) {
    const auto groups = at(codes_.groups);
    const auto middle = static_cast<std::uint8_t>(format_.zero());
    std::vector<std::uint8_t> codes(at(packed_k_)), zeros(groups, middle);
    std::vector<float> scales(groups);
    for (int col = 0; col < kBlockCols; ++col) {
      std::int64_t row = std::int64_t{b} * kBlockCols + col;
      std::ranges::fill(codes, middle);
      if (row < out_) {
        std::size_t part = 0;
        for (; row >= rows[part]->rows(); ++part) row -= rows[part]->rows();
        rows[part]->read(row, codes.data(), scales.data(),
                         format_.has_zero_points ? zeros.data() : nullptr);
      } else {
        std::ranges::fill(scales, 0.0F);
      }
      for (int g = 0; g < codes_.groups; ++g) {
        char* unit = place(b) + std::int64_t{g} * codes_.unit_bytes;
        put_codes(codes_, unit, col, &codes[at(std::int64_t{g} * codes_.group)]);
        put_scale(codes_, unit, col, scales[at(g)]);
        const auto zero = std::int16_t{zeros[at(g)]};
        if (codes_.zeros_at != 0) std::memcpy(unit + codes_.zeros_at + col * 2, &zero, sizeof zero);
      }
    }
  });
}

void CpuLinear::gather_codes(std::int64_t row, float* out) const {
  if (format_.is_blocked()) return gather_blocks(row, out);
  const char* data = block(row / kBlockCols);
  const int col = static_cast<int>(row % kBlockCols);
  for (std::int64_t k = 0; k < in_; ++k) {
    const char* unit = data + k / codes_.group * codes_.unit_bytes;
    const int inside = static_cast<int>(k % codes_.group);
    std::int16_t zero = static_cast<std::int16_t>(format_.zero());
    if (codes_.zeros_at != 0) std::memcpy(&zero, unit + codes_.zeros_at + col * 2, sizeof zero);
    const std::uint8_t bits = get_code(codes_, unit, inside, col);
    const float code = codes_.is_float ? e4m3_to_f32(bits) : static_cast<float>(bits - zero);
    const float value = code * get_scale(codes_, unit, col);
    const std::int64_t column = column_order() == nullptr ? k : column_order()[k];
    out[column] = format_.rounds_input ? value : bf16_to_f32(f32_to_bf16(value));
  }
}

}  // namespace foretoken
