#pragma once
// MatrixTables: where matrices of one shape and format lie, as tables on the device, of which the
// rows of a product choose (VulkanProducts::linear_chosen). A table is written once: the matrices of
// a layer stay where they are. One thread at a time.

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "backend/vulkan/calls.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/vulkan_linear.h"

namespace foretoken {

// Throws Error: they are not of one format.
void expect_one_format(std::span<const VulkanLinear* const> matrices);

class MatrixTables {
 public:
  explicit MatrixTables(VulkanContext& context) : context_(context) {}

  // The table of these, which are of one format.
  Address of(std::span<const VulkanLinear* const> matrices);

 private:
  struct Table {
    std::vector<MatrixAt> matrices;  // that were written
    std::unique_ptr<GpuPart> memory;
  };

  VulkanContext& context_;
  std::map<const VulkanLinear*, Table> tables_;  // by the first matrix
};

}  // namespace foretoken
