#pragma once
// Tokenizer: text to token ids and back, exactly as Hugging Face does for the files of a model
// folder. Not incremental: see Detokenizer. `clean_up_tokenization_spaces` is not applied, because
// it would change text that has already been streamed. Threads: const use from any number of
// threads. Files are read in the constructor only.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/model_files.h"
#include "base/types.h"
#include "text/tokenizer_config.h"

struct FtTokenizer;

namespace foretoken {

enum class AddSpecial { kNo, kYes };      // bos and eos as the tokenizer's post-processor says
enum class SpecialText { kSkip, kKeep };  // what special tokens decode to: nothing, or their text

// How the pieces of tokens join to text.
enum class PieceJoin {
  kByteLevel,  // all bytes in a row, read as UTF-8 with replacement characters
  kByteRuns,  // text pieces as they are; a run of byte tokens is one piece of UTF-8 or all replaced
  kContextual,  // a piece depends on its neighbours
};

class Tokenizer {
 public:
  // path: a model folder (tokenizer.json, or tokenizer.model, or vocab.json and merges.txt, with
  // tokenizer_config.json and friends), or a tokenizer.json file beside its configs. Throws Error.
  explicit Tokenizer(const std::filesystem::path& path);
  // The same files wherever they come from.
  explicit Tokenizer(const ModelFiles& files);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Refused: text that is not UTF-8.
  Result<std::vector<Token>> encode(std::string_view text, AddSpecial special) const;

  // No text has fewer tokens; 0 where that is not known. A look at the bytes: for refusing what is
  // far too long before the work and the memory (some hundred bytes for each byte) of encoding it.
  std::size_t least_tokens(std::string_view text) const;

  // Ids outside the vocabulary decode to nothing. Always valid UTF-8.
  std::string decode(std::span<const Token> tokens, SpecialText special) const;

  std::optional<Token> token_id(std::string_view token) const;  // by its spelling in the vocabulary
  std::optional<std::string> token_text(Token token) const;     // that spelling, e.g. "Ġworld"

  // The bytes that the token stands for (may be part of a UTF-8 character), its text for special
  // tokens; empty for ids outside the vocabulary. Views live as long as the tokenizer.
  std::string_view piece(Token token) const;
  bool is_known(Token token) const { return (flags(token) & kPresent) != 0; }
  bool is_special(Token token) const { return (flags(token) & kSpecial) != 0; }
  bool is_byte(Token token) const { return (flags(token) & kByte) != 0; }  // one byte of a run

  std::int64_t vocab_size() const { return vocab_size_; }  // tokens, added ones included
  PieceJoin piece_join() const { return piece_join_; }
  int leading_spaces() const { return leading_spaces_; }  // removed from the front of decoded text

  std::optional<Token> bos() const { return bos_; }
  std::optional<Token> eos() const { return eos_; }

  const TokenizerConfig& config() const { return config_; }

  const FtTokenizer* handle() const { return tokenizer_.get(); }  // for other users of the library

 private:
  static constexpr std::uint8_t kPresent = 1;
  static constexpr std::uint8_t kSpecial = 2;
  static constexpr std::uint8_t kByte = 4;

  struct Free {
    void operator()(FtTokenizer* tokenizer) const;
  };

  std::uint8_t flags(Token token) const {
    const auto id = static_cast<std::size_t>(token);
    return token >= 0 && id < flags_.size() ? flags_[id] : std::uint8_t{0};
  }
  void read_pieces();

  TokenizerConfig config_;
  std::unique_ptr<FtTokenizer, Free> tokenizer_;
  std::span<const std::uint8_t> flags_;     // these three are views into tokenizer_
  std::span<const std::uint32_t> offsets_;  // [ids + 1] bytes
  std::string_view bytes_;
  std::span<const std::uint32_t> byte_shares_;  // [256] or empty, of FtPieces; a view, too
  bool is_composed_ = false;
  std::int64_t vocab_size_ = 0;
  PieceJoin piece_join_ = PieceJoin::kContextual;
  int leading_spaces_ = 0;
  std::optional<Token> bos_;
  std::optional<Token> eos_;
};

}  // namespace foretoken
