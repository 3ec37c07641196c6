#include "text/sentencepiece_model.h"

#include <bit>
#include <optional>

#include "base/error.h"

namespace foretoken {
namespace {

// Reads the protobuf wire format: fields of a number and a value of one of four kinds.
class WireReader {
 public:
  WireReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;  // of varints and fixed-size fields
    std::string_view bytes;   // of length-delimited fields
    bool is_bytes = false;
  };

  std::optional<Field> next() {
    if (at_ == bytes_.size()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{.number = tag >> 3, .bytes = {}};
    if (field.number == 0) refuse("a field number above 0");
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint());
        field.is_bytes = true;
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        refuse("wire type 0, 1, 2 or 5");
    }
    return field;
  }

  [[noreturn]] void refuse(std::string expected) const {
    throw Error({"not a SentencePiece model",
                 where_ + ", byte " + std::to_string(at_) + " of a message", std::move(expected),
                 "other bytes"});
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    refuse("a number of at most ten bytes");
  }

  std::uint64_t fixed(int size) {
    std::uint64_t value = 0;
    const std::string_view bytes = take(static_cast<std::uint64_t>(size));
    for (int i = 0; i < size; ++i) {
      value |=
          static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]))
          << (8 * i);
    }
    return value;
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) refuse("at least " + std::to_string(size) + " more bytes");
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  std::string_view bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
};

SentencePiece parse_piece(std::string_view bytes, const std::string& where) {
  SentencePiece piece;
  WireReader reader(bytes, where);
  while (const auto field = reader.next()) {
    if (field->number == 1 && field->is_bytes) piece.text = field->bytes;
    if (field->number == 2)
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    if (field->number == 3) piece.type = static_cast<std::int32_t>(field->value);
  }
  return piece;
}

void parse_trainer(std::string_view bytes, const std::string& where, SentencePieceModel& model) {
  WireReader reader(bytes, where);
  while (const auto field = reader.next()) {
    if (field->number == 3 && !field->is_bytes)
      model.type = static_cast<std::int32_t>(field->value);
    if (field->number == 35 && !field->is_bytes) model.byte_fallback = field->value != 0;
  }
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& where) {
  constexpr std::uint64_t kPieces = 1;
  constexpr std::uint64_t kTrainer = 2;
  SentencePieceModel model;
  WireReader reader(bytes, where);
  while (const auto field = reader.next()) {
    if (field->number == kPieces && field->is_bytes)
      model.pieces.push_back(parse_piece(field->bytes, where));
    if (field->number == kTrainer && field->is_bytes) parse_trainer(field->bytes, where, model);
  }
  if (model.pieces.empty()) reader.refuse("at least one piece");
  return model;
}

}  // namespace foretoken
