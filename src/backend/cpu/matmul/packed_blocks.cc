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

constexpr int kCacheLine = 64, kLineOutputs = 16;

// The planes of codes of Bits: `kLow` bits of each, then the others.
template <int Bits>
struct Planes {
  static constexpr int kLow = Bits >= 4 ? 4 : 2, kHigh = Bits - kLow;

  // A plane of kPlane bits from the bit kFrom of each code on, kLine lines into a unit's half: its
  // lines in order, each with the quads that share it.
  template <int kPlane, int kFrom, int kLine>
  static void put_plane(const std::uint8_t* codes, char* to) {
    constexpr int kPerLine = 8 / kPlane;
    constexpr std::uint32_t kMask = ((1U << kPlane) - 1U) * 0x01010101U;
    for (int line = 0; line < kPlane; ++line, codes += 4 * kPerLine) {
      std::uint32_t word = 0;
      for (int i = 0; i < kPerLine; ++i) {
        std::uint32_t four = 0;
        std::memcpy(&four, codes + 4 * i, sizeof four);
        word |= (four >> kFrom & kMask) << i * kPlane;
      }
      std::memcpy(to + (kLine + line) * kCacheLine, &word, sizeof word);
    }
  }
  template <int kPlane, int kFrom, int kLine>
  static void get_plane(const char* from, std::uint8_t* codes) {
    constexpr int kPerLine = 8 / kPlane;
    constexpr std::uint32_t kMask = ((1U << kPlane) - 1U) * 0x01010101U;
    for (int line = 0; line < kPlane; ++line, codes += 4 * kPerLine) {
      std::uint32_t word = 0;
      std::memcpy(&word, from + (kLine + line) * kCacheLine, sizeof word);
      for (int i = 0; i < kPerLine; ++i) {
        std::uint32_t four = 0;
        std::memcpy(&four, codes + 4 * i, sizeof four);
        four |= (word >> i * kPlane & kMask) << kFrom;
        std::memcpy(codes + 4 * i, &four, sizeof four);
      }
    }
  }

  // The codes [32] of an output of a unit's half.
  static void put(const std::uint8_t* codes, char* half, int output) {
    put_plane<kLow, 0, 0>(codes, half + output * 4);
    if constexpr (kHigh > 0) put_plane<kHigh, kLow, kLow>(codes, half + output * 4);
  }
  static void get(const char* half, int output, std::uint8_t* codes) {
    std::memset(codes, 0, kBlockK);
    get_plane<kLow, 0, 0>(half + output * 4, codes);
    if constexpr (kHigh > 0) get_plane<kHigh, kLow, kLow>(half + output * 4, codes);
  }
};

struct PlaneAccess {
  void (*put)(const std::uint8_t* codes, char* half, int output);
  void (*get)(const char* half, int output, std::uint8_t* codes);
};
PlaneAccess planes_of(int bits) {
  switch (bits) {
    case 2:
      return {Planes<2>::put, Planes<2>::get};
    case 3:
      return {Planes<3>::put, Planes<3>::get};
    case 4:
      return {Planes<4>::put, Planes<4>::get};
    case 5:
      return {Planes<5>::put, Planes<5>::get};
    default:
      return {Planes<6>::put, Planes<6>::get};
  }
}

BlockLayout blocks_of(const WeightFormat& format) {
  const int groups = kBlockK / static_cast<int>(format.group);
  BlockLayout b = {};
  b.has_minima = format.has_minima;
  b.list = format.list;
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
  if (format_.super > 0) {  // kernels/dot_supers.h takes these
    const bool is_plain = format_.list == CodeList::kNone;
    const int bits = format_.bits;
    CHECK(format_.has_minima == (is_plain && (bits == 2 || bits == 4 || bits == 5)));
    CHECK((format_.group == 16) == (is_plain && (bits == 2 || bits == 3 || bits == 6)));
  }
  CHECK(format_.super == 0 || format_.super == kSuperK) << "supers of " << format_.super;
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
  const PlaneAccess planes = planes_of(format_.bits);
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
          planes.put(row.codes + k, half, col % kLineOutputs);
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
  const PlaneAccess planes = planes_of(format_.bits);
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
      planes.get(half, col % kLineOutputs, to.codes + k);
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
