#pragma once
// VulkanProducts: products of rows with weights of each kind, and rows of weights by token. A
// product makes of its input what its weights ask for: blocks of bf16, which the operation before
// it may have made already (rounded_twin.h), codes of 8 bits, or nothing. One thread at a time.

#include <span>

#include "backend/activation.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/rounded_twin.h"
#include "backend/vulkan/vulkan_linear.h"
#include "base/types.h"

namespace foretoken {

// Which of some matrices each row of a result is multiplied by: rows of the input, `each` times one
// after the other, with those that `chosen` names, or all matrices in turns.
struct RowChoice {
  Address matrices = 0;  // [matrices] of MatrixAt
  Address chosen = 0;    // [rows of the result] of 32 bits
  std::int64_t each = 1, turns = 0;
  // Where rows are sorted by their matrices (shaders/group_rows.comp): groups of kGroupRows at most,
  // and how many there may be.
  static constexpr std::int64_t kGroupRows = 8;
  Address order = 0, groups = 0;
  std::int64_t most_groups = 0;
};

class VulkanProducts {
 public:
  VulkanProducts(VulkanContext& context, RoundedTwin& twin, GpuArena& scratch)
      : context_(context), twin_(twin), scratch_(scratch) {}

  // y [rows, out] = x [rows, in] times w, and its bias. What it takes of the scratch is the
  // caller's to release.
  void linear(const VulkanLinear& w, const Tensor& x, const Tensor& y);
  // y [rows * each, >= out] = x [rows, >= in] times the matrices that rows choose, which are like
  // this one: of its shape and format. Of y kMostGroups rows at most.
  void linear_chosen(const VulkanLinear& like, const RowChoice& choice, const Tensor& x,
                     const Tensor& y);
  // Rows of w, as its products see them.
  void rows(const VulkanLinear& w, std::span<const Token> tokens, const Tensor& out);

  // out [rows, width] = act(gate) * up of rows gate | up, and its twin.
  void gated_act(const Tensor& gate_up, Activation act, const Tensor& out);

 private:
  // The rows of a result; null: all are those of one matrix.
  using MaybeChoice = const RowChoice*;

  // order: of the columns, of which x has its own; 0: of x, too.
  Address rounded(const VulkanLinear& w, const Tensor& x, Address order);
  struct InputCodes {
    Address codes, scales, sums, u_scales = 0;  // shaders/rounded_sum.glsl
  };
  InputCodes round_to_codes(const VulkanCodes& w, const Tensor& x, Address order);
  void multiply(const VulkanLinear& w, MaybeChoice choice, const Tensor& x, const Tensor& y);
  Tensor ordered(const VulkanLinear& like, const RowChoice& choice, const Tensor& x);
  void multiply_blocks(const VulkanLinear& w, MaybeChoice choice, const Tensor& x, const Tensor& y);
  void multiply_chains(const VulkanLinear& w, MaybeChoice choice, const Tensor& x, const Tensor& y);
  // By matrix units; of input of bf16 no factors are needed.
  struct Halves {
    Address rows, factors = 0;
  };
  Halves halved(const VulkanLinear& w, const Tensor& x);
  void multiply_by_units(Shader shader, const UnitShape& shape, const VulkanLinear& w,
                         const Halves& input, const Tensor& y);
  // Whether a product of `rows` rows with these codes goes by units of bytes.
  bool takes_bytes(const VulkanCodes& w, std::int64_t rows) const;
  void multiply_bytes(const VulkanLinear& w, const InputCodes& input, const Tensor& y);
  void multiply_codes(const VulkanLinear& w, MaybeChoice choice, const Tensor& x, const Tensor& y);

  VulkanContext& context_;
  RoundedTwin& twin_;
  GpuArena& scratch_;
};

}  // namespace foretoken
