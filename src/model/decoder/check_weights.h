#pragma once
// Whether a checkpoint holds the weights that its config promises: the decoder is built as a start
// builds it, with the same names and shapes asked for and the same errors, but of matrices that
// have shapes and no values. So what is read are headers and a few vectors. Not a model to run.

#include <string>

#include "model/config/model_config.h"
#include "model/decoder/load.h"

namespace foretoken {

// folder, options and config as load_model() takes them. Throws Error for what load_model() would
// refuse, but for what stands in the values. Checkpoints of stored codes are not looked at: their
// shapes follow from values.
void check_weights(const std::string& folder, const ModelOptions& options,
                   const ModelConfig& config);

}  // namespace foretoken
