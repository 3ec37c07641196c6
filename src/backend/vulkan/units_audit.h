#pragma once
// The audit of matrix units, at start: products of random rows by each pipeline, a row alone against
// the same row in a batch, byte for byte, and near to what they should be. What fails is not used,
// and products stay in tile order (--gemm-order mma).

#include <memory>

#include "backend/vulkan/context.h"
#include "base/threads.h"

namespace foretoken {

// Of the units that the device was opened with, those that pass; logs those that fail.
MatrixUnits audited_units(const std::shared_ptr<VulkanContext>& context, ThreadPool& pool);

}  // namespace foretoken
