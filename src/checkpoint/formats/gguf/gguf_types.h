#pragma once
// The types of tensors in GGUF files: blocks of a few elements that share scales, and how a block
// becomes floats. A table; not the arithmetic of products. Bits are those of gguf-py's
// dequantize(). Constants and pure functions.
//
//   a row of `width` elements = width / block_elements blocks of block_bytes bytes, one after the
//   other

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foretoken {

// The numbers under which files know the types.
enum class GgufType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kIQ4_XS = 23,
  kBF16 = 30,
  kMXFP4 = 39,
};

struct GgufTypeInfo {
  GgufType type;
  std::string_view name;  // as llama.cpp writes it
  int block_elements;     // 0: a type that writers have given up, of no known size
  int block_bytes;
  // Null: the type is known and not read.
  void (*floats)(const GgufTypeInfo& type, const std::byte* blocks, std::int64_t count, float* out);

  // `count` elements, of whole blocks.
  void dequantize(const std::byte* blocks, std::int64_t count, float* out) const {
    floats(*this, blocks, count, out);
  }
  bool is_read() const { return floats != nullptr; }
  bool is_float() const { return is_read() && block_elements == 1; }
  std::int64_t bytes_of(std::int64_t elements) const {
    return elements / block_elements * block_bytes;
  }
};

// Null where no type has this number.
const GgufTypeInfo* gguf_type(std::uint32_t number);

// The names of all types that are read, for errors.
std::string_view gguf_types_read();

}  // namespace foretoken
