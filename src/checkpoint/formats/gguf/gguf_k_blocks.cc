// Blocks of 256 elements in groups of 16 or 32, whose scales are integers of 4, 6 or 8 bits.

#include <array>

#include "checkpoint/formats/gguf/gguf_blocks.h"
#include "checkpoint/formats/gguf/gguf_bytes.h"

namespace foretoken::gguf {
namespace {

constexpr int kBlock = 256;

struct ScaleAndMinimum {
  int scale;
  int minimum;
};

// Q4_K and Q5_K: eight scales and eight minima of 6 bits in 12 bytes.
//   bytes 0-3   low 6 bits: scales 0-3;   high 2 bits: the high ones of scales 4-7
//   bytes 4-7   the same of the minima
//   bytes 8-11  low 4 bits: the low ones of scales 4-7;   high 4 bits: of minima 4-7
ScaleAndMinimum scale_of(const std::byte* p, int group) {
  if (group < 4) return {byte_at(p, group) & 63, byte_at(p, group + 4) & 63};
  const int low = byte_at(p, group + 4);
  return {(low & 15) | (byte_at(p, group - 4) >> 6) << 4, (low >> 4) | (byte_at(p, group) >> 6)
                                                                           << 4};
}

// Q3_K: sixteen scales of 6 bits in 12 bytes, four low ones of 0-7 and 8-15 in the halves of the
// first eight, two high ones of four scales in each of the last four.
int scale_of_16(const std::byte* p, int group) {
  const int low = byte_at(p, group % 8) >> (4 * (group / 8)) & 15;
  const int high = byte_at(p, 8 + group % 4) >> (2 * (group / 4)) & 3;
  return (low | high << 4) - 32;
}

}  // namespace

void from_q2_k(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kBlock, p += 84, out += kBlock) {
    const std::byte* codes = p + 16;
    const float scale = half_at(p + 80), minimum = half_at(p + 82);
    for (int i = 0; i < kBlock; ++i) {
      const int pair = byte_at(p, i / 16);
      const int code = byte_at(codes, i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
      const float group_scale = scale * static_cast<float>(pair & 15);
      const float group_minimum = minimum * static_cast<float>(pair >> 4);
      out[i] = group_scale * static_cast<float>(code) - group_minimum;
    }
  }
}

void from_q3_k(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kBlock, p += 110, out += kBlock) {
    const std::byte *codes = p + 32, *scales = p + 96;
    const float scale = half_at(p + 108);
    for (int i = 0; i < kBlock; ++i) {
      const int low = byte_at(codes, i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
      const int high = byte_at(p, i % 32) >> (i / 32) & 1;  // set: nothing is taken away
      const float group_scale = scale * static_cast<float>(scale_of_16(scales, i / 16));
      out[i] = group_scale * static_cast<float>(low - (high == 0 ? 4 : 0));
    }
  }
}

void from_q4_k(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kBlock, p += 144, out += kBlock) {
    const std::byte *scales = p + 4, *codes = p + 16;
    const float scale = half_at(p), minimum = half_at(p + 2);
    for (int group = 0; group < 8; ++group) {
      const ScaleAndMinimum own = scale_of(scales, group);
      const float group_scale = scale * static_cast<float>(own.scale);
      const float group_minimum = minimum * static_cast<float>(own.minimum);
      for (int i = 0; i < 32; ++i) {
        const int code = byte_at(codes, group / 2 * 32 + i) >> (4 * (group % 2)) & 15;
        out[group * 32 + i] = group_scale * static_cast<float>(code) - group_minimum;
      }
    }
  }
}

void from_q5_k(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kBlock, p += 176, out += kBlock) {
    const std::byte *scales = p + 4, *high = p + 16, *codes = p + 48;
    const float scale = half_at(p), minimum = half_at(p + 2);
    for (int group = 0; group < 8; ++group) {
      const ScaleAndMinimum own = scale_of(scales, group);
      const float group_scale = scale * static_cast<float>(own.scale);
      const float group_minimum = minimum * static_cast<float>(own.minimum);
      for (int i = 0; i < 32; ++i) {
        const int low = byte_at(codes, group / 2 * 32 + i) >> (4 * (group % 2)) & 15;
        const int code = low | (byte_at(high, i) >> group & 1) << 4;
        out[group * 32 + i] = group_scale * static_cast<float>(code) - group_minimum;
      }
    }
  }
}

void from_q6_k(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kBlock, p += 210, out += kBlock) {
    const std::byte *high = p + 128, *scales = p + 192;
    const float scale = half_at(p + 208);
    std::array<float, 16> group_scales;
    for (int group = 0; group < 16; ++group)
      group_scales[static_cast<std::size_t>(group)] =
          scale * static_cast<float>(static_cast<std::int8_t>(byte_at(scales, group)));
    for (int i = 0; i < kBlock; ++i) {
      const int part = i / 128, in_part = i % 128;
      const int low = byte_at(p, part * 64 + in_part % 64) >> (4 * (in_part / 64)) & 15;
      const int two = byte_at(high, part * 32 + i % 32) >> (2 * (in_part / 32)) & 3;
      out[i] = group_scales[static_cast<std::size_t>(i / 16)] *
               static_cast<float>((low | two << 4) - 32);
    }
  }
}

}  // namespace foretoken::gguf
