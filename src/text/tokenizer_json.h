#pragma once
// Builds the text of a tokenizer.json for folders that lack one, as transformers converts its slow
// tokenizers: from a SentencePiece BPE model (Llama 2), or from vocab.json and merges.txt
// (byte-level BPE with the splitting rules of Qwen 2, GPT-2 or Llama 3). Stateless.

#include <string>

#include "base/model_files.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_config.h"

namespace foretoken {

// `where` names the source in errors. Throws Error for models other than BPE.
std::string tokenizer_json_from_sentencepiece(const SentencePieceModel& model,
                                              const TokenizerConfig& config,
                                              const std::string& where);

// Reads vocab.json and merges.txt. Throws Error.
std::string tokenizer_json_from_merges(const ModelFiles& files, const TokenizerConfig& config);

}  // namespace foretoken
