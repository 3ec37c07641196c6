#pragma once
// StoredTensor: where one tensor lies in a checkpoint file. Plain data; its maker has
// checked that every byte it speaks of is inside the file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace foretoken {

struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::size_t offset = 0;  // of the first element, in bytes from the beginning of the file
  std::size_t bytes = 0;   // from there to the end of the last element
  // In elements, one per dimension; empty where the elements lie densely in the order of the shape.
  std::vector<std::int64_t> strides = {};
  // The file's name of a type that nothing here reads; then dtype says nothing. Empty: dtype does.
  std::string foreign_type = {};
};

}  // namespace foretoken
