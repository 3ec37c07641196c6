// CpuLinear of weights of blocks: their layout (kernels.h), packed row by row.

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/block_row.h"
#include "backend/cpu/matmul/packed_linear.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

constexpr int kLineBytes = 64, kLineOutputs = 16;

// A plane of `bits` bits from the bit `from` of each code on, `line` lines into a unit's half.
struct Plane {
  int bits, from, line;
};
std::vector<Plane> planes_of(int bits) {
  const int low = bits >= 4 ? 4 : 2;
  std::vector<Plane> planes{{.bits = low, .from = 0, .line = 0}};
  if (bits > low) planes.push_back({.bits = bits - low, .from = low, .line = low});
  return planes;
}

// Where the bits of plane `p` of k of an output lie in a unit's half.
struct Place {
  int byte, shift;
};
Place place_in(const Plane& p, int k, int output) {
  const int per_line = 8 / p.bits, quad = k / 4;
  return {.byte = (p.line + quad / per_line) * kLineBytes + output * 4 + k % 4,
          .shift = quad % per_line * p.bits};
}

BlockLayout blocks_of(const WeightFormat& format) {
  const int groups = kBlockK / static_cast<int>(format.group);
  BlockLayout b = {};
  b.has_minima = format.has_minima;
  b.is_listed = format.is_listed;
  b.piece_units = format.super > 0 ? format.super / kBlockK : 1;
  b.half_bytes = kBlockK * kLineOutputs * format.bits / 8;
  b.unit_bytes = 2 * b.half_bytes;
  if (format.super > 0) {
    const bool shares = format.has_minima && format.bits == 2;
    b.multiples_at = b.unit_bytes;
    b.unit_bytes += groups * kBlockCols;
    b.min_multiples_at = !format.has_minima ? 0 : shares ? b.multiples_at : b.unit_bytes;
    if (format.has_minima && !shares) b.unit_bytes += groups * kBlockCols;
  }
  const int header = kBlockCols * 2 * (format.has_minima ? 2 : 1);
  b.piece_bytes = header + b.piece_units * b.unit_bytes;
  return b;
}

bool share_bytes(const BlockLayout& b) {
  return b.has_minima && b.multiples_at != 0 && b.min_multiples_at == b.multiples_at;
}

int header_bytes(const BlockLayout& b) { return b.piece_bytes - b.piece_units * b.unit_bytes; }

void put_half(char* to, float value) {
  const std::uint16_t bits = f32_to_f16(value);
  std::memcpy(to, &bits, sizeof bits);
}
float half_at(const char* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return f16_to_f32(bits);
}

}  // namespace

void CpuLinear::lay_out_blocks() {
  CHECK(format_.group == 16 || format_.group == kBlockK) << "groups of " << format_.group;
  CHECK(in_ % std::max<std::int64_t>(format_.super, kBlockK) == 0)
      << "rows of " << in_ << " are no whole blocks";
  codes_ = {};
  codes_.bits = format_.bits;
  codes_.group = static_cast<int>(format_.group);
  codes_.groups = static_cast<int>(format_.groups(in_));
  codes_.step = codes_.group;
  codes_.scale = CodeScale::kF16;
  codes_.blocks = blocks_of(format_);
  codes_.unit_bytes = codes_.blocks.unit_bytes;
  block_cols_ = kBlockCols;
  packed_k_ = in_;
  block_bytes_ =
      in_ / kBlockK / codes_.blocks.piece_units * std::int64_t{codes_.blocks.piece_bytes};
}

void CpuLinear::pack_blocks(const LinearParts& parts, ThreadPool& pool) {
  const BlockLayout& b = codes_.blocks;
  const std::vector<Plane> planes = planes_of(format_.bits);
  const int groups = kBlockK / codes_.group;
  pool.parallel_for(static_cast<int>(ceil_div(out_, kBlockCols)), [&](int block, int) {
    OwnBlockRow owner(format_, in_);
    const BlockRow row = owner.view();
    std::memset(place(block), 0, at(block_bytes_));
    for (int col = 0; col < kBlockCols; ++col) {
      std::int64_t n = std::int64_t{block} * kBlockCols + col;
      if (n >= out_) return;
      std::size_t part = 0;
      for (; n >= parts.codes[part]->rows(); ++part) n -= parts.codes[part]->rows();
      parts.codes[part]->read_blocks(n, row);
      char* piece = place(block);
      for (std::int64_t k = 0, p = 0; k < in_; ++p, piece += b.piece_bytes) {
        put_half(piece + col * 2, row.scales[p]);
        if (b.has_minima) put_half(piece + (kBlockCols + col) * 2, row.minima[p]);
        char* unit = piece + header_bytes(b);
        for (int u = 0; u < b.piece_units; ++u, k += kBlockK, unit += b.unit_bytes) {
          char* const half = unit + col / kLineOutputs * b.half_bytes;
          for (const Plane& plane : planes)
            for (int i = 0; i < kBlockK; ++i) {
              const Place to = place_in(plane, i, col % kLineOutputs);
              const int mask = (1 << plane.bits) - 1;
              half[to.byte] = static_cast<char>(
                  half[to.byte] | (row.codes[k + i] >> plane.from & mask) << to.shift);
            }
          for (int g = 0; b.multiples_at != 0 && g < groups; ++g) {
            const std::int64_t group = k / codes_.group + g;
            const int at_group = g * kBlockCols + col;
            if (share_bytes(b)) {
              unit[b.multiples_at + at_group] =
                  static_cast<char>(row.multiples[group] | row.min_multiples[group] << 4);
              continue;
            }
            unit[b.multiples_at + at_group] = static_cast<char>(row.multiples[group]);
            if (b.has_minima)
              unit[b.min_multiples_at + at_group] = static_cast<char>(row.min_multiples[group]);
          }
        }
      }
    }
  });
}

void CpuLinear::gather_blocks(std::int64_t row, float* out) const {
  const BlockLayout& b = codes_.blocks;
  const std::vector<Plane> planes = planes_of(format_.bits);
  const int col = static_cast<int>(row % kBlockCols), groups = kBlockK / codes_.group;
  OwnBlockRow owner(format_, in_);
  const BlockRow to = owner.view();
  const char* piece = block(row / kBlockCols);
  for (std::int64_t k = 0, p = 0; k < in_; ++p, piece += b.piece_bytes) {
    to.scales[p] = half_at(piece + col * 2);
    if (b.has_minima) to.minima[p] = half_at(piece + (kBlockCols + col) * 2);
    const char* unit = piece + header_bytes(b);
    for (int u = 0; u < b.piece_units; ++u, k += kBlockK, unit += b.unit_bytes) {
      const char* const half = unit + col / kLineOutputs * b.half_bytes;
      for (int i = 0; i < kBlockK; ++i) {
        unsigned code = 0;
        for (const Plane& plane : planes) {
          const Place from = place_in(plane, i, col % kLineOutputs);
          const unsigned bits = static_cast<std::uint8_t>(half[from.byte]);
          code |= (bits >> static_cast<unsigned>(from.shift) & ((1U << plane.bits) - 1U))
                  << static_cast<unsigned>(plane.from);
        }
        to.codes[k + i] = static_cast<std::uint8_t>(code);
      }
      for (int g = 0; b.multiples_at != 0 && g < groups; ++g) {
        const std::int64_t group = k / codes_.group + g;
        const auto one = static_cast<std::int8_t>(unit[b.multiples_at + g * kBlockCols + col]);
        to.multiples[group] = share_bytes(b) ? static_cast<std::int8_t>(one & 15) : one;
        if (!b.has_minima) continue;
        const auto other =
            static_cast<std::int8_t>(unit[b.min_multiples_at + g * kBlockCols + col]);
        to.min_multiples[group] = share_bytes(b) ? static_cast<std::int8_t>(one >> 4 & 15) : other;
      }
    }
  }
  owner.widen(out);
}

}  // namespace foretoken
