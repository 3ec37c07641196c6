#pragma once
// Matrices as a backend keeps them, and what they are made of. Plain data, but for PackedLinear,
// which is the backend's own.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/weight_format.h"
#include "tensor/tensor.h"

namespace foretoken {

// Weights in the backend's own layout, made by LoadOps::pack. Opaque to models.
class PackedLinear {
 public:
  virtual ~PackedLinear() = default;
  virtual std::int64_t in_width() const = 0;
  virtual std::int64_t out_width() const = 0;
  virtual std::size_t bytes() const = 0;
  // All of its memory, to be kept on disk. Empty where LoadOps::packed_layout has no name for it.
  virtual std::vector<std::span<const std::byte>> images() const { return {}; }
};

// Matrices [n_i, in] to be stacked along the output dimension (q|k|v, gate|up). bias: empty or one
// per matrix [n_i], where an empty Tensor means no bias. Any float dtype; converted to `dtype` by
// round-to-nearest-even, or to codes where the format has them. Matrices that are codes already
// come as `codes`, in that format, and not as weights.
struct LinearParts {
  std::span<const Tensor> weights;
  std::span<const Tensor> biases;
  DType dtype = DType::kBF16;
  WeightFormat format = {};
  std::span<const CodedRows* const> codes = {};
};

// The same without the matrices: all that decides how they lie in memory.
struct LinearShape {
  std::vector<std::int64_t> rows = {};  // n_i
  std::int64_t in_width = 0;
  bool has_bias = false;
  DType dtype = DType::kBF16;
  WeightFormat format = {};
};

// Fills memory with bytes that PackedLinear::images() once gave: those of image `image` from byte
// `offset` on. False: the bytes cannot be had. Called by several threads at a time.
using FillImage =
    std::function<bool(std::size_t image, std::size_t offset, std::span<std::byte> to)>;

}  // namespace foretoken
