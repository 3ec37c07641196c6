#pragma once
// SentencePieceModel: the parts of a SentencePiece file (tokenizer.model, a protobuf) from which a
// BPE tokenizer can be rebuilt. Not a SentencePiece implementation: only type BPE, no normalisation
// tables. Plain data.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct SentencePiece {
  // Of the protobuf's enumeration.
  enum Type : std::int32_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };

  std::string text;
  float score = 0.0F;
  std::int32_t type = kNormal;
};

struct SentencePieceModel {
  static constexpr std::int32_t kUnigram = 1;
  static constexpr std::int32_t kBpe = 2;

  std::vector<SentencePiece> pieces;  // by id
  std::int32_t type = kUnigram;       // the protobuf's default
  bool byte_fallback = false;
};

// Throws Error naming `where` for bytes that are no SentencePiece model.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& where);

}  // namespace foretoken
