#pragma once
// VulkanExperts: mixtures of experts on a device. Which experts a row uses is known to the device
// alone: products look up the weights of each row's expert in a table of all, so those of experts
// that no row uses are not read.
//
//   logits -- route.comp --> chosen, weights
//   rows of x --> each row's experts: gate_up, act, down --> added up, by rising number of the expert
//
// One thread at a time.

#include <cstdint>
#include <span>

#include "backend/activation.h"
#include "backend/experts.h"
#include "backend/forward_size.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/matrix_tables.h"
#include "backend/vulkan/vulkan_products.h"

namespace foretoken {

class VulkanExperts {
 public:
  VulkanExperts(VulkanContext& context, VulkanProducts& products, GpuArena& scratch,
                MatrixTables& tables)
      : context_(context), products_(products), scratch_(scratch), tables_(tables) {}

  // A loader calls these. They throw Error for too many experts and for several formats.
  static void expect_routing(const Routing& routing);
  static void expect_held(std::span<const ExpertLinears> experts);

  // As StepOps has them, of what is held.
  void route(const Tensor& logits, const Routing& routing, const RouterVectors& vectors,
             const Tensor& chosen, const Tensor& weights);
  void mix(std::span<const ExpertLinears> experts, Activation act, const Tensor& x,
           const Tensor& chosen, const Tensor& weights, const Tensor& out);

  // Bytes of the scratch that mix() takes at most.
  static std::int64_t workspace_bytes(const ForwardSize& size);

 private:
  static constexpr std::int64_t kMostRows = 256;  // whose parts lie in the scratch at a time

  using Matrix = const PackedLinear* ExpertLinears::*;
  static std::vector<const VulkanLinear*> matrices_of(std::span<const ExpertLinears> experts,
                                                      Matrix matrix);
  Address table_of(std::span<const ExpertLinears> experts, Matrix matrix);
  // Sorts rows by their experts where experts have some rows each.
  void sort(RowChoice& choice, std::int64_t rows, std::int64_t experts);
  void mix_some(std::span<const ExpertLinears> experts, Activation act, const Tensor& x,
                const Tensor& chosen, const Tensor& weights, const Tensor& out);

  VulkanContext& context_;
  VulkanProducts& products_;
  GpuArena& scratch_;
  MatrixTables& tables_;
};

}  // namespace foretoken
