#pragma once
// foretoken-bench sample: what the sampler takes for a row of logits, with the loops of each
// instruction set.

namespace foretoken {

int sample_command();

}  // namespace foretoken
