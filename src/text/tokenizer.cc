#include "text/tokenizer.h"

#include <algorithm>
#include <cstring>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "text/rust_bridge.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_json.h"

namespace foretoken {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

json::object added_token_json(const AddedToken& token) {
  return {{"content", token.content},       {"single_word", token.single_word},
          {"lstrip", token.lstrip},         {"rstrip", token.rstrip},
          {"normalized", token.normalized}, {"special", token.special}};
}

// The classes that replace the post-processor of tokenizer.json by "bos text eos".
bool builds_own_frame(const std::string& tokenizer_class) {
  return tokenizer_class == "LlamaTokenizer" || tokenizer_class == "CodeLlamaTokenizer" ||
         tokenizer_class == "GemmaTokenizer";
}

bool adds_bos(const TokenizerConfig& config) { return config.add_bos_token.value_or(true); }
bool adds_eos(const TokenizerConfig& config) { return config.add_eos_token.value_or(false); }

json::value frame_json(const TokenizerConfig& config, const std::string& where) {
  const auto token = [&](std::string_view role, bool is_wanted) -> json::value {
    if (!is_wanted) return nullptr;
    const auto text = config.special(role);
    if (!text) {
      throw Error({"tokenizer config asks to add a token that it does not name", where,
                   std::string(role), "none"});
    }
    return json::value(*text);
  };
  return {{"bos", token("bos_token", adds_bos(config))},
          {"eos", token("eos_token", adds_eos(config))}};
}

struct FreeFile {
  void operator()(FtTokenizerFile* file) const { ft_tokenizer_file_free(file); }
};

// A tokenizer.json, read or built, before anything of the config is applied.
struct Source {
  std::unique_ptr<FtTokenizerFile, FreeFile> file;
  std::string where;
  bool is_built = false;  // by tokenizer_json.h, for want of a tokenizer.json

  Source(std::string_view json, std::string origin, bool built)
      : where(std::move(origin)), is_built(built) {
    FtBuffer error{};
    file.reset(ft_tokenizer_file_new(span_of(json), &error));
    if (!file) throw Error({"cannot load the tokenizer", where, {}, take(error)});
  }
};

bool contains(const std::vector<AddedToken>& tokens, const std::string& content) {
  const auto same = [&](const AddedToken& other) { return other.content == content; };
  return std::any_of(tokens.begin(), tokens.end(), same);
}

// Takes back what a config was assumed to say where tokenizer.json shows otherwise. A token beyond
// the vocabulary would have an id that the model has no row for.
void fit_to_file(const FtTokenizerFile* file, TokenizerConfig& config) {
  const bool is_other_class = config.is_class_inferred &&
                              config.tokenizer_class == "LlamaTokenizer" &&
                              ft_tokenizer_file_is_byte_level(file);  // Llama 3, Mistral Nemo
  if (is_other_class) config.tokenizer_class.clear();
  std::erase_if(config.specials, [&](const SpecialToken& special) {
    const std::string& content = special.token.content;
    const auto is_known = [&] {
      return ft_tokenizer_file_has_token(file, span_of(content)) ||
             contains(config.added, content) || contains(config.additional, content);
    };
    return special.is_default && (is_other_class || !is_known());
  });
}

// Whether "bos text eos" takes the place of the post-processor. That of a tokenizer.json stays
// unless the config speaks of bos or eos, and where a token that it wants has no name.
bool wants_frame(const TokenizerConfig& config, const Source& source) {
  const bool has_own_frame = builds_own_frame(config.tokenizer_class);
  if (source.is_built) {
    const bool needs_frame = config.tokenizer_class == "PreTrainedTokenizer" &&
                             config.special("bos_token") && adds_bos(config);
    return has_own_frame || needs_frame;
  }
  if (!has_own_frame || config.has_backend) return false;
  const bool is_asked = config.add_bos_token || config.add_eos_token;
  if (!is_asked && ft_tokenizer_file_has_post_processor(source.file.get())) return false;
  return (!adds_bos(config) || config.special("bos_token")) &&
         (!adds_eos(config) || config.special("eos_token"));
}

// What transformers changes in a tokenizer after loading it.
json::object adjustments(const TokenizerConfig& config, const Source& source) {
  json::array added;
  json::array specials;
  const auto add = [&](AddedToken token, bool is_special) {
    token.special = token.special || is_special;
    added.push_back(added_token_json(token));
  };
  const auto is_role = [&](const AddedToken& token) {
    const auto same = [&](const SpecialToken& other) {
      return other.token.content == token.content;
    };
    return std::any_of(config.specials.begin(), config.specials.end(), same);
  };
  for (const AddedToken& token : config.added) add(token, is_role(token));
  for (const SpecialToken& special : config.specials) {
    if (special.is_plain) {
      specials.push_back(json::value(special.token.content));
    } else if (!contains(config.added, special.token.content)) {
      add(special.token, true);
    }
  }
  for (const AddedToken& token : config.additional) specials.push_back(json::value(token.content));

  // Llama's first space is made when its tokenizer is built, not afterwards.
  const bool sets_space =
      config.add_prefix_space && !config.has_backend && !builds_own_frame(config.tokenizer_class);
  const json::value prefix_space =
      sets_space ? json::value(*config.add_prefix_space) : json::value();
  return {
      {"added_tokens", std::move(added)},
      {"special_tokens", std::move(specials)},
      {"split_special_tokens", config.split_special_tokens},
      {"add_prefix_space", prefix_space},
      {"template", wants_frame(config, source) ? frame_json(config, source.where) : json::value()}};
}

bool is_sentencepiece(std::string_view bytes) {
  // The first field of the protobuf, a piece; a tiktoken file of the same name is base64 text.
  return bytes.starts_with('\x0A');
}

Source find_source(const ModelFiles& files, const TokenizerConfig& config) {
  const std::string kJson = "tokenizer.json", kSpm = "tokenizer.model", kVocab = "vocab.json";
  const auto spm = files.read(kSpm);
  const bool has_spm = spm && is_sentencepiece(*spm);
  // transformers rebuilds Llama's tokenizer when the config names the treatment of the first space.
  const bool rebuilds = has_spm && config.tokenizer_class == "LlamaTokenizer" &&
                        config.add_prefix_space && !config.has_backend;
  auto text = files.read(kJson);
  if (text && !rebuilds) return {*text, files.where(kJson), false};
  if (has_spm) {
    const auto model = parse_sentencepiece_model(*spm, files.where(kSpm));
    return {tokenizer_json_from_sentencepiece(model, config, files.where(kSpm)), files.where(kSpm),
            true};
  }
  if (files.has(kVocab))
    return {tokenizer_json_from_merges(files, config), files.where(kVocab), true};
  throw Error({"no tokenizer", files.where(),
               "tokenizer.json, a SentencePiece tokenizer.model, or vocab.json with merges.txt",
               spm ? "a tokenizer.model of another kind" : "none of them"});
}

FolderFiles files_of(const fs::path& path) {
  if (!fs::exists(path))
    throw Error({"no tokenizer", path.string(), "a folder or a tokenizer.json", "nothing"});
  return FolderFiles(path);
}

}  // namespace

void Tokenizer::Free::operator()(FtTokenizer* tokenizer) const { ft_tokenizer_free(tokenizer); }
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer::Tokenizer(const fs::path& path) : Tokenizer(files_of(path)) {}

Tokenizer::Tokenizer(const ModelFiles& files) : config_(read_tokenizer_config(files)) {
  Source source = find_source(files, config_);
  if (!source.is_built) fit_to_file(source.file.get(), config_);
  const std::string changes = json::serialize(adjustments(config_, source));
  FtBuffer error{};
  tokenizer_.reset(ft_tokenizer_new(source.file.release(), span_of(changes), &error));
  if (!tokenizer_) throw Error({"cannot load the tokenizer", source.where, {}, take(error)});
  read_pieces();
  const auto id_of = [&](std::string_view role) {
    const auto text = config_.special(role);
    return text ? token_id(*text) : std::nullopt;
  };
  bos_ = id_of("bos_token");
  eos_ = id_of("eos_token");
}

void Tokenizer::read_pieces() {
  const FtPieces pieces = ft_tokenizer_pieces(tokenizer_.get());
  flags_ = {pieces.flags, pieces.count};
  offsets_ = {pieces.offsets, pieces.count + 1};
  bytes_ = {pieces.bytes, offsets_.back()};
  if (pieces.byte_shares != nullptr) byte_shares_ = {pieces.byte_shares, 256};
  is_composed_ = pieces.is_composed;
  vocab_size_ = static_cast<std::int64_t>(pieces.vocab_size);
  piece_join_ = static_cast<PieceJoin>(pieces.style);
  leading_spaces_ = static_cast<int>(pieces.leading_spaces);
}

Result<std::vector<Token>> Tokenizer::encode(std::string_view text, AddSpecial special) const {
  FtBuffer ids{};
  FtBuffer error{};
  if (!ft_tokenizer_encode(tokenizer_.get(), span_of(text), special == AddSpecial::kYes, &ids,
                           &error)) {
    return Refusal{"cannot tokenize: " + take(error)};
  }
  std::vector<Token> tokens(ids.size / sizeof(Token));
  if (!tokens.empty()) std::memcpy(tokens.data(), ids.data, ids.size);
  ft_buffer_free(ids);
  return tokens;
}

std::size_t Tokenizer::least_tokens(std::string_view text) const {
  if (byte_shares_.empty()) return 0;
  constexpr std::uint64_t kWhole = 1 << 24;
  const auto is_ascii = [&](std::size_t i) {
    return i >= text.size() || static_cast<unsigned char>(text[i]) < 0x80;
  };
  // Composition leaves ASCII alone that no mark may follow, and the ideographs U+4000..U+9FFF.
  const auto stays = [&](std::size_t i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) return is_ascii(i + 1);
    std::size_t lead = i;
    while (lead > 0 && (static_cast<unsigned char>(text[lead]) & 0xC0) == 0x80) --lead;
    const auto first = static_cast<unsigned char>(text[lead]);
    return first >= 0xE4 && first <= 0xE9;
  };
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!is_composed_ || stays(i)) sum += byte_shares_[static_cast<unsigned char>(text[i])];
  return static_cast<std::size_t>((sum + kWhole - 1) / kWhole);
}

std::string Tokenizer::decode(std::span<const Token> tokens, SpecialText special) const {
  std::vector<Token> known(tokens.begin(), tokens.end());
  std::erase_if(known, [&](Token token) { return !is_known(token); });
  const FtSpan ids{reinterpret_cast<const char*>(known.data()), known.size() * sizeof(Token)};
  FtBuffer text{};
  FtBuffer error{};
  if (!ft_tokenizer_decode(tokenizer_.get(), ids, special == SpecialText::kSkip, &text, &error)) {
    ft_buffer_free(error);
    return {};  // no decoder of the library fails on known tokens
  }
  return take(text);
}

std::optional<Token> Tokenizer::token_id(std::string_view token) const {
  const std::int64_t id = ft_tokenizer_token_to_id(tokenizer_.get(), span_of(token));
  if (id < 0) return std::nullopt;
  return static_cast<Token>(id);
}

std::optional<std::string> Tokenizer::token_text(Token token) const {
  FtBuffer text{};
  if (token < 0 ||
      !ft_tokenizer_id_to_token(tokenizer_.get(), static_cast<std::uint32_t>(token), &text)) {
    return std::nullopt;
  }
  return take(text);
}

std::string_view Tokenizer::piece(Token token) const {
  if (!is_known(token)) return {};
  const auto id = static_cast<std::size_t>(token);
  return bytes_.substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
}

}  // namespace foretoken
