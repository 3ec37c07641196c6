#include "checkpoint/model_files.h"

#include <algorithm>
#include <initializer_list>

#include "checkpoint/formats/gguf/gguf_files.h"
#include "checkpoint/formats/gguf/gguf_parts.h"

namespace foretoken {

bool is_model_file(const std::string& path) { return is_gguf(path); }

std::unique_ptr<ModelFiles> open_model_files(const std::string& path) {
  if (is_model_file(path)) return std::make_unique<GgufFiles>(path);
  return std::make_unique<FolderFiles>(path);
}

bool has_tokenizer(const ModelFiles& files) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"tokenizer.json", "tokenizer.model", "vocab.json"},
      [&](const char* name) { return files.has(name); });
}

}  // namespace foretoken
