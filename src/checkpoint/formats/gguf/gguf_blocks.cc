#include "checkpoint/formats/gguf/gguf_blocks.h"

#include <array>
#include <cmath>
#include <cstring>

#include "checkpoint/formats/gguf/gguf_bytes.h"

namespace foretoken::gguf {
namespace {

constexpr int kSmall = 32;  // elements of a block
constexpr int kHalf = kSmall / 2;

// The values that codes of 4 bits name in the IQ4 types.
constexpr std::array<std::int8_t, 16> kNamedValues{-127, -104, -83, -65, -49, -35, -22, -10,
                                                   1,    13,   25,  38,  53,  69,  89,  113};

// Codes of 4 bits: the low halves of 16 bytes are elements 0 to 15, the high ones 16 to 31.
template <typename Value>
void each_nibble(const std::byte* codes, Value value) {
  for (int i = 0; i < kHalf; ++i) {
    const std::uint8_t byte = byte_at(codes, i);
    value(i, byte & 15);
    value(i + kHalf, byte >> 4);
  }
}

// The same with a fifth bit each, that of element i in bit i of a word of 32.
template <typename Value>
void each_five_bits(const std::byte* high, const std::byte* codes, Value value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, high, sizeof bits);
  each_nibble(codes,
              [&](int i, int low) { value(i, low | static_cast<int>((bits >> i & 1U) << 4)); });
}

}  // namespace

void from_f32(const std::byte* blocks, std::int64_t count, float* out) {
  std::memcpy(out, blocks, static_cast<std::size_t>(count) * sizeof(float));
}

void from_f16(const std::byte* blocks, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = half_at(blocks + 2 * i);
}

void from_bf16(const std::byte* blocks, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = bf16_to_f32(word_at(blocks + 2 * i));
}

void from_q4_0(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kSmall, p += 18, out += kSmall) {
    const float scale = half_at(p);
    each_nibble(p + 2, [&](int i, int code) { out[i] = scale * static_cast<float>(code - 8); });
  }
}

void from_q4_1(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kSmall, p += 20, out += kSmall) {
    const float scale = half_at(p), least = half_at(p + 2);
    each_nibble(p + 4, [&](int i, int code) { out[i] = scale * static_cast<float>(code) + least; });
  }
}

void from_q5_0(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kSmall, p += 22, out += kSmall) {
    const float scale = half_at(p);
    each_five_bits(p + 2, p + 6,
                   [&](int i, int code) { out[i] = scale * static_cast<float>(code - 16); });
  }
}

void from_q5_1(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kSmall, p += 24, out += kSmall) {
    const float scale = half_at(p), least = half_at(p + 2);
    each_five_bits(p + 4, p + 8,
                   [&](int i, int code) { out[i] = scale * static_cast<float>(code) + least; });
  }
}

void from_q8_0(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kSmall, p += 34, out += kSmall) {
    const float scale = half_at(p);
    for (int i = 0; i < kSmall; ++i)
      out[i] = static_cast<float>(static_cast<std::int8_t>(byte_at(p + 2, i))) * scale;
  }
}

void from_iq4_nl(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= kSmall, p += 18, out += kSmall) {
    const float scale = half_at(p);
    each_nibble(p + 2, [&](int i, int code) {
      out[i] = scale * static_cast<float>(kNamedValues[static_cast<std::size_t>(code)]);
    });
  }
}

void from_mxfp4(const std::byte* p, std::int64_t count, float* out) {
  constexpr std::array<float, 16> kE2M1 = {0.0F, 0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                           0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
  constexpr int kBias = 127;
  for (; count > 0; count -= kSmall, p += 17, out += kSmall) {
    const int exponent = byte_at(p, 0) - kBias;
    each_nibble(p + 1, [&](int i, int code) {
      out[i] = std::ldexp(kE2M1[static_cast<std::size_t>(code)], exponent);
    });
  }
}

// Eight groups of 32, each with a scale of 6 bits: 4 low ones in `low`, 2 high ones in a word.
void from_iq4_xs(const std::byte* p, std::int64_t count, float* out) {
  for (; count > 0; count -= 256, p += 136, out += 256) {
    const float scale = half_at(p);
    const int high = word_at(p + 2);
    const std::byte *low = p + 4, *codes = p + 8;
    for (int group = 0; group < 8; ++group) {
      const int low_bits = byte_at(low, group / 2) >> (4 * (group % 2)) & 15;
      const int bits = low_bits | (high >> (2 * group) & 3) << 4;
      const float group_scale = scale * static_cast<float>(bits - 32);
      each_nibble(codes + group * kHalf, [&](int i, int code) {
        out[group * kSmall + i] =
            group_scale * static_cast<float>(kNamedValues[static_cast<std::size_t>(code)]);
      });
    }
  }
}

}  // namespace foretoken::gguf
