#include "text/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/json_text.h"

namespace foretoken {
namespace {

namespace json = boost::json;

// transformers' SPECIAL_TOKENS_ATTRIBUTES, but for the list of additional ones.
constexpr std::array<std::string_view, 7> kRoles = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
constexpr std::string_view kAdditional = "additional_special_tokens";

struct DefaultToken {
  std::string_view tokenizer_class, role, content;
};
// What the classes assume when the config does not mention the role.
constexpr DefaultToken kDefaults[] = {
    {"LlamaTokenizer", "bos_token", "<s>"},
    {"LlamaTokenizer", "eos_token", "</s>"},
    {"LlamaTokenizer", "unk_token", "<unk>"},
    {"Qwen2Tokenizer", "eos_token", "<|endoftext|>"},
    {"Qwen2Tokenizer", "unk_token", "<|endoftext|>"},
    {"Qwen2Tokenizer", "pad_token", "<|endoftext|>"},
    {"GPT2Tokenizer", "bos_token", "<|endoftext|>"},
    {"GPT2Tokenizer", "eos_token", "<|endoftext|>"},
    {"GPT2Tokenizer", "unk_token", "<|endoftext|>"},
};

[[noreturn]] void refuse(const std::string& where, std::string_view key, std::string expected) {
  throw Error({"wrong value in a tokenizer config", where + ", \"" + std::string(key) + "\"",
               std::move(expected), "another kind of value"});
}

// A token as a string or as an object with flags.
SpecialToken read_token(const json::value& value, std::string_view key, const std::string& where) {
  SpecialToken token{.role = std::string(key), .token = {}};
  if (const json::string* text = value.if_string()) {
    token.token = {.content = std::string(*text), .normalized = false, .special = true};
    return token;
  }
  const json::object* object = value.if_object();
  const json::value* content = object == nullptr ? nullptr : object->if_contains("content");
  if (content == nullptr || !content->is_string()) refuse(where, key, "a string or an added token");
  const FileFields fields(*object, where + ", \"" + std::string(key) + "\"");
  const bool special = fields.boolean("special").value_or(false);
  token.is_plain = false;
  token.token = {.content = std::string(content->as_string()),
                 .single_word = fields.boolean("single_word").value_or(false),
                 .lstrip = fields.boolean("lstrip").value_or(false),
                 .rstrip = fields.boolean("rstrip").value_or(false),
                 .normalized = fields.boolean("normalized").value_or(!special),
                 .special = special};
  return token;
}

void set_role(TokenizerConfig& config, SpecialToken token) {
  std::erase_if(config.specials,
                [&](const SpecialToken& other) { return other.role == token.role; });
  if (!token.token.content.empty()) config.specials.push_back(std::move(token));
}

void read_specials(const json::object& object, const std::string& where, TokenizerConfig& config) {
  for (std::string_view role : kRoles) {
    const json::value* value = object.if_contains(role);
    if (value == nullptr || value->is_null()) continue;
    set_role(config, read_token(*value, role, where));
  }
  const json::value* list = object.if_contains(kAdditional);
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array()) refuse(where, kAdditional, "a list");
  for (const json::value& value : list->as_array()) {
    AddedToken token = read_token(value, kAdditional, where).token;
    token.special = true;
    if (std::find(config.additional.begin(), config.additional.end(), token) ==
        config.additional.end()) {
      config.additional.push_back(std::move(token));
    }
  }
}

void read_added_decoder(const json::value& decoder, const std::string& where,
                        TokenizerConfig& config) {
  if (!decoder.is_object()) refuse(where, "added_tokens_decoder", "an object");
  std::map<std::int64_t, AddedToken> by_id;
  for (const auto& [key, value] : decoder.as_object()) {
    std::int64_t id = -1;
    const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (code != std::errc{} || end != key.data() + key.size() || id < 0) {
      throw Error({"wrong token id in added_tokens_decoder", where, "a number", std::string(key)});
    }
    by_id[id] = read_token(value, "added_tokens_decoder", where).token;
  }
  for (auto& [id, token] : by_id) config.added.push_back(std::move(token));
}

// Configs from before added_tokens_decoder: added_tokens.json maps texts to ids.
void read_added_tokens_json(const ModelFiles& files, TokenizerConfig& config) {
  const auto object = read_json_file(files, "added_tokens.json");
  if (!object) return;
  std::map<std::int64_t, AddedToken> by_id;
  for (const auto& [key, value] : *object) {
    if (!value.is_int64()) refuse(files.where("added_tokens.json"), key, "a token id");
    const std::string content(key);
    const auto is_role = [&](const SpecialToken& token) { return token.token.content == content; };
    const auto is_listed = [&](const AddedToken& token) { return token.content == content; };
    const bool special = std::any_of(config.specials.begin(), config.specials.end(), is_role) ||
                         std::any_of(config.additional.begin(), config.additional.end(), is_listed);
    by_id[value.as_int64()] = {.content = content, .normalized = !special, .special = special};
  }
  for (auto& [id, token] : by_id) config.added.push_back(std::move(token));
}

void read_class(const ModelFiles& files, TokenizerConfig& config) {
  const auto text = [](const json::object& object, std::string_view key) -> std::string {
    const json::value* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
  };
  std::string name = text(config.json, "tokenizer_class");
  if (name.empty()) {
    const json::object model = read_json_file(files, "config.json").value_or(json::object{});
    name = text(model, "tokenizer_class");
    const std::string type = text(model, "model_type");
    config.is_class_inferred = name.empty();
    if (!name.empty()) {
    } else if (type == "llama" || type == "mistral") {
      name = "LlamaTokenizer";
    } else if (type == "qwen2" || type == "qwen3") {
      name = "Qwen2Tokenizer";
    } else if (type == "gpt2") {
      name = "GPT2Tokenizer";
    }
  }
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  config.tokenizer_class = name;
}

void set_default_specials(TokenizerConfig& config) {
  for (const DefaultToken& fallback : kDefaults) {
    if (fallback.tokenizer_class != config.tokenizer_class) continue;
    if (config.json.contains(fallback.role) || config.special(fallback.role)) continue;
    set_role(
        config,
        {.role = std::string(fallback.role),
         .token = {.content = std::string(fallback.content), .normalized = false, .special = true},
         .is_default = true});
  }
}

}  // namespace

std::optional<std::string> TokenizerConfig::special(std::string_view role) const {
  for (const SpecialToken& token : specials) {
    if (token.role == role) return token.token.content;
  }
  return std::nullopt;
}

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder) {
  return read_tokenizer_config(FolderFiles(folder));
}

TokenizerConfig read_tokenizer_config(const ModelFiles& files) {
  const std::string where = files.where("tokenizer_config.json");
  TokenizerConfig config;
  config.json = read_json_file(files, "tokenizer_config.json").value_or(json::object{});
  const json::object& object = config.json;
  const FileFields fields(object, where);
  read_class(files, config);
  config.add_bos_token = fields.boolean("add_bos_token");
  config.add_eos_token = fields.boolean("add_eos_token");
  config.add_prefix_space = fields.boolean("add_prefix_space");
  config.legacy = fields.boolean("legacy").value_or(true);
  config.split_special_tokens = fields.boolean("split_special_tokens").value_or(false);
  config.has_backend = object.contains("backend");
  read_specials(object, where, config);
  if (const json::value* decoder = object.if_contains("added_tokens_decoder")) {
    read_added_decoder(*decoder, where, config);
  } else {
    const std::string map = "special_tokens_map.json";
    if (const auto object = read_json_file(files, map))
      read_specials(*object, files.where(map), config);
    read_added_tokens_json(files, config);
  }
  set_default_specials(config);
  return config;
}

}  // namespace foretoken
