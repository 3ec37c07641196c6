#pragma once
// Tokenizers for tests: tiny ones written here, and real ones from the shared data when it is
// there.

#include <filesystem>
#include <optional>
#include <string>

namespace foretoken {

// The text of a tokenizer.json: byte-level BPE over all 256 bytes, some merges, special tokens
// <|bos|> and <|eos|> at the end.
std::string tiny_byte_level_json();

// The bytes of a SentencePiece model like Llama 2's: <unk> <s> </s>, 256 byte pieces, letters,
// words.
std::string tiny_sentencepiece_model();

// Folder with the shared data; nullopt when it is absent. Found by FORETOKEN_SHARED_DATA of the
// environment, else beside the checkout.
std::optional<std::filesystem::path> shared_data();

}  // namespace foretoken
