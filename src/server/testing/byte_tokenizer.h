#pragma once
// A tokenizer folder made by a test: byte-level, ids 0..255 are the bytes, then a few special
// tokens, and a small chat template. So tests can write down token ids as characters. Variants: one
// that adds the begin token to texts, as most real ones do; one whose template shows no tools; one
// that has words.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/test_folder.h"
#include "base/types.h"

namespace foretoken {

inline constexpr Token kByteBos = 256, kByteEos = 257, kByteUser = 258, kByteAssistant = 259;
inline constexpr int kByteVocab = 260;

// Writes the folder and removes it at the end.
class ByteTokenizerFolder {
 public:
  struct Options {
    bool adds_bos = false;
    bool shows_tools = true;
    // From kByteVocab on, each of two tokens before it, printable ASCII.
    std::vector<std::pair<std::string, std::string>> merges = {};
    std::vector<std::string> marks = {};  // special tokens behind the merges
    // Tokens behind those, as bytes; each beginning of a word is one, too.
    std::vector<std::string> words = {};
  };
  explicit ByteTokenizerFolder(const Options& options);
  const std::string& path() const { return folder_.path(); }

 private:
  TestFolder folder_;
};

std::vector<Token> byte_tokens(std::string_view text);

}  // namespace foretoken
