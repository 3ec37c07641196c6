#pragma once
// The weights of a tiny model as a checkpoint of GPTQ with `desc_act` has them: layers' matrices as
// codes of 4 bits whose columns belong to groups in no order, all else as it was.

#include "checkpoint/quantized/stored_quantization.h"
#include "invariance/tiny_models.h"

namespace foretoken {

std::unique_ptr<WeightSource> ordered_weights(const TinyModel& model);

// What its config.json would say.
StoredQuantization groups_in_no_order();
// The same with codes of 8 bits for some.
StoredQuantization groups_of_both_widths();

}  // namespace foretoken
