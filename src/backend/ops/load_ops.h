#pragma once
// LoadOps: what makes a model's memory on a machine, once, before the first step: weights in the
// backend's layout, tables, keys and values. The rules of ops.h hold: threads, errors, memory.
//
//   the host's tensors -- pack, keep_rows, upload --> the backend's memory
//   packed bytes on disk -- pack_again -------------> the same, without the matrices

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/experts.h"
#include "backend/kv_shape.h"
#include "backend/measured_speed.h"
#include "backend/weights.h"
#include "base/types.h"
#include "tensor/tensor.h"

namespace foretoken {

class LoadOps {
 public:
  virtual ~LoadOps() = default;

  // The matrices are the host's, or the backend's where keep_rows gave them.
  virtual std::unique_ptr<PackedLinear> pack(const LinearParts& parts) = 0;
  // Some rows of a packed matrix as a matrix of their own.
  virtual std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w,
                                                  std::span<const Token> rows, DType dtype,
                                                  const WeightFormat& format) = 0;

  // The name of the layout of packed weights: where it is the same, and the shape is, their bytes
  // are a function of the matrices. Empty: this backend's cannot be kept.
  virtual std::string packed_layout() const { return {}; }
  // What pack() made once, from its bytes; null where fill returned false. Whole pieces of
  // kImagePiece are asked for, and what is left at the end of an image.
  static constexpr std::size_t kImagePiece = std::size_t{1} << 20;
  virtual std::unique_ptr<PackedLinear> pack_again(const LinearShape& shape,
                                                   const FillImage& fill) {
    (void)shape, (void)fill;
    return nullptr;
  }

  // Checks that the backend can choose among experts, and mix them. A loader calls both, because the
  // operations are called at the first request only. Throw Error: it cannot.
  virtual void expect_routing(const Routing& routing) const { (void)routing; }
  virtual void expect_experts(std::span<const ExpertLinears> experts) const { (void)experts; }

  // Zeroed memory of the backend that lives as long as the backend (tables, norms).
  virtual Tensor alloc(DType dtype, Shape shape) = 0;

  // The same for the keys and values of num_pages pages, one KvLayer per layer.
  virtual std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) = 0;
  // Gives the memory of these pages, ascending, of all that alloc_kv has made, back to the system,
  // where it can: what they hold is lost. Between steps.
  virtual void release_kv(std::span<const PageId> pages) { (void)pages; }
  // Bytes of a page in all layers together.
  virtual std::size_t kv_page_bytes(const KvShape& shape) const = 0;
  // Of the states that layers keep, of all slots and snapshots.
  virtual std::size_t state_bytes(const KvShape& shape) const = 0;

  // Copies values of the host to memory of the backend, of one shape and dtype.
  virtual void upload(Tensor host, Tensor to) = 0;

  // A matrix [n, width] of any float dtype as plain rows of `dtype` in memory of the backend, as
  // alloc gives it: for what is only looked up. Rounds to nearest even.
  virtual Tensor keep_rows(Tensor matrix, DType dtype) = 0;

  // Chooses by measurement how products of the packed weights with up to max_rows rows are
  // computed, and says what it chose. Bits do not change. Products in `known`, from an earlier
  // tuning, are not measured again. Between packing and the first step.
  virtual std::vector<TunedProduct> tune(int max_rows, std::span<const TunedProduct> known) {
    (void)max_rows, (void)known;
    return {};
  }
};

}  // namespace foretoken
