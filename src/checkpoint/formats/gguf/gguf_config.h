#pragma once
// A GGUF file's metadata as the texts of config.json and generation_config.json, so that one reader
// knows the families. Stateless.

#include <string>

#include "checkpoint/formats/gguf/gguf_model.h"

namespace foretoken {

// Throws Error where a key is missing, of a wrong type, or of an architecture that is not served.
std::string gguf_config_json(const GgufModel& model);

// The tokens that end an answer, and what its makers recommend for sampling.
std::string gguf_generation_json(const GgufModel& model);

}  // namespace foretoken
