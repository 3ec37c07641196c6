#include "checkpoint/formats/gguf/gguf_blocks.h"

#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_bytes.h"
#include "checkpoint/formats/gguf/gguf_codings.h"

namespace foretoken::gguf {
namespace {

constexpr int kMostElements = 256, kMostGroups = 16;  // of a block

int value_of(std::uint8_t code, const WeightFormat& format) {
  if (format.list == CodeList::kIq4Nl) return kListedCodes<CodeList::kIq4Nl>[code];
  return code - format.zero();
}

}  // namespace

void from_f32(const GgufTypeInfo&, const std::byte* blocks, std::int64_t count, float* out) {
  std::memcpy(out, blocks, static_cast<std::size_t>(count) * sizeof(float));
}

void from_f16(const GgufTypeInfo&, const std::byte* blocks, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = half_at(blocks + 2 * i);
}

void from_bf16(const GgufTypeInfo&, const std::byte* blocks, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = bf16_to_f32(word_at(blocks + 2 * i));
}

void from_codes(const GgufTypeInfo& type, const std::byte* p, std::int64_t count, float* out) {
  const GgufCoding* coding = gguf_coding(type.type);
  CHECK(coding != nullptr && type.block_elements <= kMostElements) << type.name;
  const WeightFormat& format = coding->format;
  const int group = static_cast<int>(format.group);
  std::array<std::uint8_t, kMostElements> codes;
  std::array<std::int8_t, kMostGroups> multiples, min_multiples;
  for (; count > 0; count -= type.block_elements, p += type.block_bytes) {
    float scale = 0, minimum = 0;
    coding->read(p, {codes.data(), &scale, &minimum, multiples.data(), min_multiples.data()});
    const std::uint8_t* code = codes.data();
    for (std::size_t g = 0; code != codes.data() + type.block_elements; ++g) {
      const bool is_super = format.super > 0;
      const float of_group = is_super ? scale * static_cast<float>(multiples[g]) : scale;
      const float least =
          is_super && format.has_minima ? minimum * static_cast<float>(min_multiples[g]) : minimum;
      for (int i = 0; i < group; ++i, ++code, ++out) {
        *out = of_group * static_cast<float>(value_of(*code, format));
        if (format.has_minima) *out += least;
      }
    }
  }
}

void from_mxfp4(const GgufTypeInfo& type, const std::byte* p, std::int64_t count, float* out) {
  constexpr int kBias = 127;
  const int half = type.block_elements / 2;
  const auto value = [](int code, int exponent) {  // listed codes are twice their value
    return std::ldexp(static_cast<float>(kListedCodes<CodeList::kE2M1>[code]), exponent - 1);
  };
  for (; count > 0; count -= 2 * half, p += type.block_bytes, out += 2 * half) {
    const int exponent = byte_at(p, 0) - kBias;
    for (int i = 0; i < half; ++i) {
      const int both = byte_at(p + 1, i);
      out[i] = value(both & 15, exponent);
      out[i + half] = value(both >> 4, exponent);
    }
  }
}

}  // namespace foretoken::gguf
