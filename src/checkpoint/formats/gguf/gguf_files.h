#pragma once
// GgufFiles: a GGUF file as the small files of a model folder (config.json, generation_config.json,
// the tokenizer's), each made of the metadata when it is asked for. Not the weights. Immutable;
// thread-safe.

#include <optional>
#include <string>

#include "base/model_files.h"
#include "checkpoint/formats/gguf/gguf_model.h"

namespace foretoken {

class GgufFiles final : public ModelFiles {
 public:
  explicit GgufFiles(const std::string& path) : model_(path) {}
  std::optional<std::string> read(const std::string& name) const override;
  bool has(const std::string& name) const override;
  std::string where(const std::string& name) const override;
  std::string where() const override { return model_.path(); }

 private:
  GgufModel model_;
};

}  // namespace foretoken
