#include "checkpoint/formats/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_pre_tokenizer.h"

namespace foretoken {
namespace {

namespace json = boost::json;

const std::string kTokens = "tokenizer.ggml.tokens";
const std::string kTypes = "tokenizer.ggml.token_type";
const std::string kMerges = "tokenizer.ggml.merges";
const std::string kPre = "tokenizer.ggml.pre";
const std::string kTemplate = "tokenizer.chat_template";

// Of a token, as SentencePiece numbers them.
enum TokenType : std::int64_t { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5 };

// Tokens with their types; a file without types has normal ones only.
struct Vocabulary {
  std::vector<std::string_view> tokens;
  std::vector<std::int64_t> types;

  explicit Vocabulary(const GgufMetadata& metadata)
      : tokens(metadata.texts(kTokens)), types(metadata.integers(kTypes)) {
    if (tokens.empty()) metadata.refuse_missing(kTokens);
    if (types.empty()) types.assign(tokens.size(), kNormal);
    if (types.size() != tokens.size())
      metadata.refuse(kTypes, "as many as tokens, " + std::to_string(tokens.size()),
                      std::to_string(types.size()));
  }
};

std::optional<std::int64_t> token_of(const GgufMetadata& metadata, const std::string& role) {
  const std::string key = "tokenizer.ggml." + role + "_token_id";
  const auto id = metadata.integer(key);
  if (id && !metadata.has(kTokens)) metadata.refuse_missing(kTokens);
  const auto count = static_cast<std::int64_t>(metadata.count(kTokens));
  if (id && (*id < 0 || *id >= count))
    metadata.refuse(key, "a token below " + std::to_string(count), std::to_string(*id));
  return id;
}

// What SentencePiece's own numbers are where the file does not say.
std::optional<std::int64_t> special_of(const GgufMetadata& metadata, const std::string& role) {
  const auto id = token_of(metadata, role);
  if (id || gguf_vocabulary(metadata) != GgufVocabulary::kSentencePiece) return id;
  const auto usual = role == "bos"       ? std::optional<std::int64_t>(1)
                     : role == "eos"     ? std::optional<std::int64_t>(2)
                     : role == "unknown" ? std::optional<std::int64_t>(0)
                                         : std::nullopt;
  const bool is_there = usual && *usual < static_cast<std::int64_t>(metadata.count(kTokens));
  return is_there ? usual : std::nullopt;
}

const GgufPreTokenizer& pre_tokenizer_of(const GgufMetadata& metadata) {
  const std::string name = metadata.text(kPre).value_or("default");
  const GgufPreTokenizer* const rule = gguf_pre_tokenizer(name);
  if (rule == nullptr) metadata.refuse(kPre, gguf_pre_tokenizer_names(), name);
  return *rule;
}

bool adds_bos(const GgufMetadata& metadata) {
  const bool usual = gguf_vocabulary(metadata) != GgufVocabulary::kByteLevel ||
                     pre_tokenizer_of(metadata).adds_bos;
  return metadata.boolean("tokenizer.ggml.add_bos_token").value_or(usual);
}

bool adds_eos(const GgufMetadata& metadata) {
  return metadata.boolean("tokenizer.ggml.add_eos_token").value_or(false);
}

json::array merge_list(const GgufMetadata& metadata) {
  if (!metadata.has(kMerges)) metadata.refuse_missing(kMerges);
  json::array list;
  for (const std::string_view merge : metadata.texts(kMerges)) {
    const std::size_t space = merge.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == merge.size() ||
        merge.find(' ', space + 1) != std::string_view::npos)
      metadata.refuse(kMerges, "two pieces with a space between", std::string(merge.substr(0, 80)));
    list.push_back(json::array{merge.substr(0, space), merge.substr(space + 1)});
  }
  return list;
}

json::object byte_level() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", false}};
}

json::object pre_tokenizer_json(const GgufPreTokenizer& rule) {
  json::array steps;
  for (const std::string_view split : rule.splits)
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", split}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  steps.push_back(byte_level());
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

// "bos text eos", of those that are wanted.
json::value post_processor_json(const GgufMetadata& metadata, const Vocabulary& vocabulary) {
  json::object specials;
  json::array single;
  const auto add = [&](const std::string& role) {
    const auto id = token_of(metadata, role);
    if (!id) metadata.refuse_missing("tokenizer.ggml." + role + "_token_id");
    const std::string_view text = vocabulary.tokens[static_cast<std::size_t>(*id)];
    specials[text] = {{"id", text}, {"ids", json::array{*id}}, {"tokens", json::array{text}}};
    single.push_back(json::object{{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
  };
  if (adds_bos(metadata)) add("bos");
  single.push_back(json::object{{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (adds_eos(metadata)) add("eos");
  if (specials.empty()) return nullptr;
  json::array pair = single;
  for (json::value part : single) {
    if (json::value* const text = part.as_object().if_contains("Sequence"))
      text->as_object()["id"] = "B";
    for (auto& [kind, fields] : part.as_object()) fields.as_object()["type_id"] = 1;
    pair.push_back(std::move(part));
  }
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(specials)}};
}

// Protobuf's wire format, as far as a SentencePiece model needs it.
class WireWriter {
 public:
  void number(std::uint64_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void bits32(std::uint64_t field, std::uint32_t value) {
    varint(field << 3 | 5);
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  }
  void bytes(std::uint64_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  std::string& take() { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

// The default template, and those that have names.
json::value templates_json(const GgufMetadata& metadata) {
  const auto usual = metadata.text(kTemplate);
  json::array named;
  if (usual) named.push_back({{"name", "default"}, {"template", *usual}});
  for (const auto& [key, value] : metadata.all())
    if (key.starts_with(kTemplate + "."))
      named.push_back({{"name", key.substr(kTemplate.size() + 1)},
                       {"template", metadata.text(key).value_or("")}});
  if (named.empty()) return nullptr;
  if (usual && named.size() == 1) return json::value(*usual);
  return named;
}

}  // namespace

GgufVocabulary gguf_vocabulary(const GgufMetadata& metadata) {
  const auto kind = metadata.text("tokenizer.ggml.model");
  if (!kind) metadata.refuse_missing("tokenizer.ggml.model");
  if (*kind == "gpt2") return GgufVocabulary::kByteLevel;
  if (*kind == "llama") return GgufVocabulary::kSentencePiece;
  if (*kind == "gemma4") return GgufVocabulary::kMergedPieces;
  metadata.refuse("tokenizer.ggml.model",
                  "gpt2 (byte-level BPE), llama (SentencePiece) or gemma4 (BPE of pieces)", *kind);
}

namespace {

// What is around the model in tokenizer.json.
struct Surroundings {
  json::value normalizer, pre_tokenizer, decoder;
};

Surroundings byte_level_surroundings(const GgufPreTokenizer& rule) {
  const json::value composed = rule.composes ? json::value{{"type", "NFC"}} : json::value(nullptr);
  return {composed, pre_tokenizer_json(rule), byte_level()};
}

// Spaces are written as a letter, bytes that no piece has as pieces of their own.
Surroundings piece_surroundings() {
  constexpr const char* kSpace = "\u2581";
  const auto replaced = [](const char* from, const char* to) {
    return json::object{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
  };
  return {replaced(" ", kSpace),
          {{"type", "Split"},
           {"pattern", {{"String", " "}}},
           {"behavior", "MergedWithPrevious"},
           {"invert", false}},
          {{"type", "Sequence"},
           {"decoders", json::array{replaced(kSpace, " "), json::object{{"type", "ByteFallback"}},
                                    json::object{{"type", "Fuse"}}}}}};
}

}  // namespace

// Tokens that fill up a vocabulary are left out: nothing is written with them.
std::string gguf_tokenizer_json(const GgufMetadata& metadata) {
  const Vocabulary vocabulary(metadata);
  const bool has_pieces = gguf_vocabulary(metadata) == GgufVocabulary::kMergedPieces;
  json::object vocab;
  json::array added;
  vocab.reserve(vocabulary.tokens.size());
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string_view text = vocabulary.tokens[id];
    const std::int64_t type = vocabulary.types[id];
    if (text.empty() || type == kUnused) continue;
    vocab[text] = id;
    if (type != kControl && type != kUserDefined) continue;
    added.push_back({{"id", id},
                     {"content", text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", type == kControl}});
  }
  const auto unknown = has_pieces ? special_of(metadata, "unknown") : std::nullopt;
  json::value unknown_text = nullptr;
  if (unknown) unknown_text = vocabulary.tokens[static_cast<std::size_t>(*unknown)];
  json::object model{{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", std::move(unknown_text)},
                     {"continuing_subword_prefix", nullptr},
                     {"end_of_word_suffix", nullptr},
                     {"fuse_unk", has_pieces},
                     {"byte_fallback", has_pieces},
                     {"ignore_merges", !has_pieces && pre_tokenizer_of(metadata).takes_whole_words},
                     {"vocab", std::move(vocab)},
                     {"merges", merge_list(metadata)}};
  Surroundings around =
      has_pieces ? piece_surroundings() : byte_level_surroundings(pre_tokenizer_of(metadata));
  return json::serialize(json::object{{"version", "1.0"},
                                      {"truncation", nullptr},
                                      {"padding", nullptr},
                                      {"added_tokens", std::move(added)},
                                      {"normalizer", std::move(around.normalizer)},
                                      {"pre_tokenizer", std::move(around.pre_tokenizer)},
                                      {"post_processor", post_processor_json(metadata, vocabulary)},
                                      {"decoder", std::move(around.decoder)},
                                      {"model", std::move(model)}});
}

std::string gguf_sentencepiece_model(const GgufMetadata& metadata) {
  const Vocabulary vocabulary(metadata);
  const std::vector<double> scores = metadata.numbers("tokenizer.ggml.scores");
  if (scores.size() != vocabulary.tokens.size())
    metadata.refuse("tokenizer.ggml.scores",
                    "as many as tokens, " + std::to_string(vocabulary.tokens.size()),
                    std::to_string(scores.size()));
  WireWriter model;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    WireWriter piece;
    piece.bytes(1, vocabulary.tokens[id]);
    piece.bits32(2, std::bit_cast<std::uint32_t>(static_cast<float>(scores[id])));
    piece.number(3, static_cast<std::uint64_t>(vocabulary.types[id]));
    model.bytes(1, piece.take());
  }
  WireWriter trainer;
  trainer.number(3, 2);   // model_type: BPE
  trainer.number(35, 1);  // byte_fallback
  model.bytes(2, trainer.take());
  return std::move(model.take());
}

std::string gguf_tokenizer_config_json(const GgufMetadata& metadata) {
  const std::vector<std::string_view> tokens = metadata.texts(kTokens);
  json::object config;
  for (const auto& [role, name] :
       {std::pair{"bos", "bos_token"}, std::pair{"eos", "eos_token"},
        std::pair{"unknown", "unk_token"}, std::pair{"padding", "pad_token"}})
    if (const auto id = special_of(metadata, role))
      config[name] = tokens[static_cast<std::size_t>(*id)];
  if (gguf_vocabulary(metadata) == GgufVocabulary::kSentencePiece) {
    config["tokenizer_class"] = "LlamaTokenizer";
    config["add_bos_token"] = adds_bos(metadata);
    config["add_eos_token"] = adds_eos(metadata);
    config["add_prefix_space"] = metadata.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  } else {
    config["tokenizer_class"] = "PreTrainedTokenizerFast";
  }
  if (json::value templates = templates_json(metadata); !templates.is_null())
    config["chat_template"] = std::move(templates);
  return json::serialize(config);
}

std::vector<std::int64_t> gguf_end_tokens(const GgufMetadata& metadata) {
  static constexpr auto kEnds = std::to_array<std::string_view>(
      {"<|eot_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<|eom_id|>", "<|end_of_text|>",
       "<end_of_turn>", "<turn|>", "<end_of_utterance>", "<EOT>", "<eos>", "</s>",
       "<\uFF5Cend\u2581of\u2581sentence\uFF5C>"});
  std::set<std::int64_t> ends;
  for (const char* role : {"eos", "eot", "eom"})
    if (const auto id = special_of(metadata, role)) ends.insert(*id);
  const Vocabulary vocabulary(metadata);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (vocabulary.types[id] == kControl &&
        std::ranges::find(kEnds, vocabulary.tokens[id]) != kEnds.end())
      ends.insert(static_cast<std::int64_t>(id));
  return {ends.begin(), ends.end()};
}

}  // namespace foretoken
