#pragma once
// The Vulkan backend: Ops on one device, in the CPU's tile order, or by matrix units. The device
// computes forwards and searches logits; the host draws tokens, walks trees and chooses drafts with
// what was found, or with logits that were read back. What the backend does not hold is refused by
// name. Calls are queued; read_back() waits. Same threads and lifetimes as Ops.

#include <memory>
#include <string>

#include "backend/ops.h"
#include "backend/vulkan/vulkan_options.h"
#include "base/threads.h"

namespace foretoken {

// order: of --gemm-order; host: computes on the host what the device does not. Throws Error: there
// is no such device, or its arithmetic cannot give the order.
std::unique_ptr<Ops> make_vulkan_backend(const VulkanOptions& options, const std::string& order,
                                         std::unique_ptr<Ops> host, ThreadPool& pool);

}  // namespace foretoken
