#pragma once
// Configurations of published models by which speed is compared. Shapes only: their weights are
// made up.

#include <string>
#include <vector>

#include "model/config/model_config.h"

namespace foretoken {

// Names accepted by shape_config, for help and errors.
std::vector<std::string> shape_names();

// Throws Error when the name is unknown.
ModelConfig shape_config(const std::string& name);

}  // namespace foretoken
