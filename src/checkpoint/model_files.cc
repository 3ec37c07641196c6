#include "checkpoint/model_files.h"

#include "checkpoint/formats/gguf/gguf_files.h"
#include "checkpoint/formats/gguf/gguf_parts.h"

namespace foretoken {

bool is_model_file(const std::string& path) { return is_gguf(path); }

std::unique_ptr<ModelFiles> open_model_files(const std::string& path) {
  if (is_model_file(path)) return std::make_unique<GgufFiles>(path);
  return std::make_unique<FolderFiles>(path);
}

}  // namespace foretoken
