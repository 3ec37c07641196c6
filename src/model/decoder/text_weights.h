#pragma once
// The text in a checkpoint of a model that sees images, too: its tensors under the names that the
// decoder asks for, whatever prefix the writer gave them. Tensors of towers and projectors are
// neither listed nor read. Not for drafts, whose checkpoints hold text only.

#include <memory>

#include "checkpoint/checkpoint.h"

namespace foretoken {

// Says once, at level info, what is left out. Throws Error where two tensors have one name.
std::unique_ptr<WeightSource> text_weights(std::unique_ptr<WeightSource> source);

}  // namespace foretoken
