#pragma once
// Coupling: whether drafts for sequences that are sampled are drawn with the target's own noise.

namespace foretoken {

enum class Coupling { kNever, kMeasured, kAlways };

}  // namespace foretoken
