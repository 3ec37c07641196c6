#pragma once
// The header of a GGUF file (versions 2 and 3, little-endian): metadata and where each tensor lies.
// Whatever it says was checked against the bytes that are there before it is believed: nothing is
// read or reserved beyond them. Not the meaning of keys, not the blocks. Thread-safe: no state.
//
//   "GGUF" version tensors keys | key type value ... | name rank sizes type offset ... | pad | data

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/formats/gguf/gguf_metadata.h"
#include "checkpoint/formats/gguf/gguf_types.h"
#include "tensor/tensor.h"

namespace foretoken {

struct GgufTensor {
  std::string name;
  const GgufTypeInfo* type = nullptr;
  Shape shape;             // slowest dimension first, as everywhere here
  std::size_t offset = 0;  // from the beginning of the file, in bytes
  std::size_t bytes = 0;
};

struct GgufHeader {
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  // by offset
};

// Throws Error naming `where`, key or tensor. A file that ends too early is told from one that is
// wrong. The header has views of the file.
GgufHeader parse_gguf(std::span<const std::byte> file, const std::string& where);

}  // namespace foretoken
