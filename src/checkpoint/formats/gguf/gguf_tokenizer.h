#pragma once
// A GGUF file's vocabulary as the files of a Hugging Face tokenizer: tokenizer.json where it has
// merges, tokenizer.model of SentencePiece, and the tokenizer_config.json with special tokens and chat
// templates. Not a tokenizer. Stateless; throws Error naming the key.

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/formats/gguf/gguf_metadata.h"

namespace foretoken {

enum class GgufVocabulary {
  kByteLevel,
  kSentencePiece,
  kMergedPieces  // pieces as SentencePiece writes them, put together by a list of merges
};
// Throws Error for another kind, or none.
GgufVocabulary gguf_vocabulary(const GgufMetadata& metadata);

std::string gguf_tokenizer_json(const GgufMetadata& metadata);       // of kinds with merges
std::string gguf_sentencepiece_model(const GgufMetadata& metadata);  // of kSentencePiece
std::string gguf_tokenizer_config_json(const GgufMetadata& metadata);

// The tokens that end an answer: those that the file names, and control tokens that have a name
// which is known for it. Ascending, each once.
std::vector<std::int64_t> gguf_end_tokens(const GgufMetadata& metadata);

}  // namespace foretoken
