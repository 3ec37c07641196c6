#pragma once
// read_speed: how fast a device reads its memory, the roof of products of few rows.

#include "backend/vulkan/context.h"

namespace foretoken {

// Bytes a second, of a GiB or of half of what is free; 0: nothing is. Waits for the device.
double read_speed(VulkanContext& context);

}  // namespace foretoken
