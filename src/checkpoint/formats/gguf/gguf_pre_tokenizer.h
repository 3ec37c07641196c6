#pragma once
// GgufPreTokenizer: how text is cut into words before byte-level BPE, by the name that a GGUF file
// has for it (tokenizer.ggml.pre). A table; the expressions are those of the makers' tokenizers.
// Constants.

#include <span>
#include <string>
#include <string_view>

namespace foretoken {

struct GgufPreTokenizer {
  // Regular expressions, each cutting what those before it left.
  std::span<const std::string_view> splits;
  bool composes = false;           // text is brought into Unicode's composed form first
  bool takes_whole_words = false;  // a word that is a token is not merged together
  bool adds_bos = false;           // where the file does not say
};

// Null: no rule has this name.
const GgufPreTokenizer* gguf_pre_tokenizer(std::string_view name);
std::string gguf_pre_tokenizer_names();  // all, for errors

}  // namespace foretoken
