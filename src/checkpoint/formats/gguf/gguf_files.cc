#include "checkpoint/formats/gguf/gguf_files.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "checkpoint/formats/gguf/gguf_config.h"
#include "checkpoint/formats/gguf/gguf_tokenizer.h"

namespace foretoken {
namespace {

// A file that some GGUF files hold whole.
const std::string kTokenizerJson = "tokenizer.huggingface.json";

bool has_merges(const GgufMetadata& metadata) {
  return gguf_vocabulary(metadata) != GgufVocabulary::kSentencePiece;
}

bool has_tokenizer_json(const GgufMetadata& metadata) {
  return metadata.has(kTokenizerJson) || has_merges(metadata);
}

bool has_sentencepiece(const GgufMetadata& metadata) { return !has_tokenizer_json(metadata); }

std::string tokenizer_json(const GgufMetadata& metadata) {
  if (auto whole = metadata.text(kTokenizerJson)) return *std::move(whole);
  return gguf_tokenizer_json(metadata);
}

struct MadeFile {
  std::string_view name;
  std::string (*make)(const GgufModel& model);
  bool (*is_there)(const GgufMetadata& metadata) = [](const GgufMetadata&) { return true; };
};

constexpr auto kFiles = std::to_array<MadeFile>({
    {"config.json", gguf_config_json},
    {"generation_config.json", gguf_generation_json},
    {"tokenizer.json", [](const GgufModel& model) { return tokenizer_json(model.metadata()); },
     has_tokenizer_json},
    {"tokenizer.model",
     [](const GgufModel& model) { return gguf_sentencepiece_model(model.metadata()); },
     has_sentencepiece},
    {"tokenizer_config.json",
     [](const GgufModel& model) { return gguf_tokenizer_config_json(model.metadata()); }},
});

// Null: no file of this name is made of this model.
const MadeFile* made_file(const GgufModel& model, const std::string& name) {
  const auto* const file = std::ranges::find(kFiles, name, &MadeFile::name);
  return file != kFiles.end() && file->is_there(model.metadata()) ? file : nullptr;
}

}  // namespace

std::optional<std::string> GgufFiles::read(const std::string& name) const {
  const MadeFile* const file = made_file(model_, name);
  if (file == nullptr) return std::nullopt;
  std::string text = file->make(model_);
  model_.check();  // before anybody believes what was read
  return text;
}

bool GgufFiles::has(const std::string& name) const { return made_file(model_, name) != nullptr; }

std::string GgufFiles::where(const std::string& name) const {
  return model_.path() + " (as " + name + ")";
}

}  // namespace foretoken
