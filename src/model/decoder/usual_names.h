#pragma once
// usual_names: a checkpoint whose family calls tensors by names of its own (Blocks::renames), under
// those that the decoder asks for. Loading threads only.

#include <memory>
#include <span>

#include "checkpoint/checkpoint.h"
#include "model/config/blocks.h"

namespace foretoken {

// Throws Error where two tensors get one name.
std::unique_ptr<WeightSource> usual_names(std::unique_ptr<WeightSource> source,
                                          std::span<const Rename> renames);

}  // namespace foretoken
