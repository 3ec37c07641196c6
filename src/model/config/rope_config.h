#pragma once
// The rotary settings of config.json in both styles: `rope_scaling` beside `rope_theta`, and the
// newer `rope_parameters` that holds both. Used by ModelConfig::parse only.

#include "base/file_fields.h"
#include "model/config/model_config.h"

namespace foretoken {

// Sets config.rope_theta and config.rope; config.head_dim and the usual rope_theta are known already.
void parse_rope(const FileFields& fields, ModelConfig& config);

}  // namespace foretoken
