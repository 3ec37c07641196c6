#include "text/testing/test_tokenizers.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace foretoken {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

void append_utf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// GPT-2's alphabet: the character that stands for each byte.
std::vector<std::string> byte_alphabet() {
  std::vector<std::string> alphabet(256);
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_itself =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    append_utf8(is_itself ? byte : next++, alphabet[byte]);
  }
  return alphabet;
}

void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_bytes_field(std::uint64_t number, std::string_view bytes, std::string& out) {
  append_varint(number << 3 | 2, out);
  append_varint(bytes.size(), out);
  out += bytes;
}

void append_piece(std::string_view text, float score, std::uint64_t type, std::string& model) {
  std::string piece;
  append_bytes_field(1, text, piece);
  append_varint(2 << 3 | 5, piece);
  const auto bits = std::bit_cast<std::uint32_t>(score);
  for (int shift = 0; shift < 32; shift += 8) piece += static_cast<char>(bits >> shift);
  append_varint(3 << 3, piece);
  append_varint(type, piece);
  append_bytes_field(1, piece, model);
}

}  // namespace

std::string tiny_byte_level_json() {
  json::object vocab;
  std::int64_t next = 0;
  for (const std::string& character : byte_alphabet()) vocab[character] = next++;
  json::array merges;
  for (const auto& [left, right] : {std::pair{"h", "e"},
                                    {"l", "l"},
                                    {"he", "ll"},
                                    {"hell", "o"},
                                    {"\u0120", "w"},
                                    {"\u00C3", "\u00A9"},
                                    {"\u00F0", "\u0141"}}) {
    vocab[std::string(left) + right] = next++;
    merges.push_back(json::array{left, right});
  }
  const auto added = [&](std::string_view content) {
    return json::object{{"id", next++},    {"content", content}, {"single_word", false},
                        {"lstrip", false}, {"rstrip", false},    {"normalized", false},
                        {"special", true}};
  };
  json::array added_tokens = {added("<|bos|>"), added("<|eos|>")};
  const json::object bytes = {{"type", "ByteLevel"},
                              {"add_prefix_space", false},
                              {"trim_offsets", true},
                              {"use_regex", true}};
  return json::serialize(json::object{{"version", "1.0"},
                                      {"truncation", nullptr},
                                      {"padding", nullptr},
                                      {"added_tokens", added_tokens},
                                      {"normalizer", nullptr},
                                      {"pre_tokenizer", bytes},
                                      {"post_processor", bytes},
                                      {"decoder", bytes},
                                      {"model",
                                       {{"type", "BPE"},
                                        {"dropout", nullptr},
                                        {"unk_token", nullptr},
                                        {"continuing_subword_prefix", nullptr},
                                        {"end_of_word_suffix", nullptr},
                                        {"fuse_unk", false},
                                        {"byte_fallback", false},
                                        {"vocab", vocab},
                                        {"merges", merges}}}});
}

std::string tiny_sentencepiece_model() {
  std::string model;
  append_piece("<unk>", 0, 2, model);
  append_piece("<s>", 0, 3, model);
  append_piece("</s>", 0, 3, model);
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    append_piece(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">", 0, 6, model);
  }
  float score = 0;
  for (const char* text :
       {"he", "ll",        "hell", "hello",       "\u2581h", "\u2581hello", "\u2581w",
        "or", "\u2581wor", "ld",   "\u2581world", "\u2581",  "h",           "e",
        "l",  "o",         "w",    "r",           "d",       "\u00E9"}) {
    append_piece(text, score, 1, model);
    score -= 1;
  }
  std::string trainer;
  append_varint(3 << 3, trainer);
  append_varint(2, trainer);  // BPE
  append_varint(35 << 3, trainer);
  append_varint(1, trainer);  // byte fallback
  append_bytes_field(2, trainer, model);
  return model;
}

std::optional<fs::path> shared_data() {
  const char* named = std::getenv("FORETOKEN_SHARED_DATA");
  const fs::path path = named != nullptr ? named : FORETOKEN_SHARED_DATA;
  if (!fs::is_directory(path)) return std::nullopt;
  return path;
}

}  // namespace foretoken
