#pragma once
// VulkanRows: what is done to rows without a matrix, on a device: norms, elements, gates, copies.
// As StepOps has them. One thread at a time.

#include <cstdint>
#include <span>

#include "backend/ops/step_ops.h"
#include "backend/vulkan/calls.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/rounded_twin.h"

namespace foretoken {

class VulkanRows {
 public:
  VulkanRows(VulkanContext& context, RoundedTwin& twin) : context_(context), twin_(twin) {}

  void look_up(Tensor table, std::span<const Token> tokens, Tensor out);
  void norm(Tensor x, Tensor weight, float eps, Tensor out);
  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out);
  void norm_groups(Tensor x, Tensor weight, float eps);
  void centre(Tensor x, Tensor out);
  void add(Tensor residual, Tensor delta);
  void scale(Tensor x, float factor);
  void soft_cap(Tensor x, float cap);
  void gate_rows(Tensor x, Tensor gate);
  void gate(Tensor x, Tensor gate, GateCurve curve);
  void gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                      std::int64_t column);
  void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                 std::span<const std::int32_t> to);
  void join_columns(Tensor a, Tensor b, Tensor out);
  void add_elements(Tensor x, std::span<const Addend> addends);

 private:
  void norm_rows(std::uint32_t adds, const Tensor& x, const Tensor& delta, const Tensor& weight,
                 float eps, const Tensor& out);
  void each_element(std::uint32_t kind, const Tensor& x, ElementsCall call);
  // Of what may write to an input of products.
  template <typename Call>
  void dispatch(Shader shader, std::uint32_t variant, const Call& call, Recorder::Groups groups);

  VulkanContext& context_;
  RoundedTwin& twin_;  // of inputs of products
};

}  // namespace foretoken
