#pragma once
// Which ModelFiles stand for a model: those of its folder, or those made of its GGUF file. The one
// place that tells the two apart by a path.

#include <memory>
#include <string>

#include "base/model_files.h"

namespace foretoken {

// Whether a path is that of a model in one file (or its first part).
bool is_model_file(const std::string& path);

// path: a model folder, a GGUF file, or a tokenizer.json beside its configs. Throws Error when a
// GGUF file cannot be read.
std::unique_ptr<ModelFiles> open_model_files(const std::string& path);

// Whether one of the files that tokenizers are made of is there.
bool has_tokenizer(const ModelFiles& files);

}  // namespace foretoken
