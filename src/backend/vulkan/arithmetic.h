#pragma once
// What the arithmetic of a device's shaders makes of numbers that tell: measured at start, because
// Vulkan leaves it open whether multiply-adds are fused and how quotients and roots are rounded.

#include <string>

#include "backend/vulkan/context.h"

namespace foretoken {

struct Arithmetic {
  bool rounds_fma_once = false;   // a * b + c, by one way or the other; needed
  bool uses_doubles = false;      // the other way
  bool rounds_sums = false;       // sums and products of float32 to nearest; needed
  bool rounds_quotients = false;  // and roots, to nearest: else bits differ from the CPU's
  bool is_usable() const { return rounds_fma_once && rounds_sums; }
  bool has_bits_of_cpu() const { return is_usable() && rounds_quotients; }
};

// Chooses how shaders multiply and add, too (Pipelines::use_doubles).
Arithmetic probe_arithmetic(VulkanContext& context);

}  // namespace foretoken
