#pragma once
// TokenizerConfig: what tokenizer_config.json and its companions (special_tokens_map.json,
// added_tokens.json, config.json) say about a tokenizer, merged as transformers does.
// Plain data, read once. Not the vocabulary: see tokenizer_json.h.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/model_files.h"

namespace foretoken {

// A token matched before the model of the tokenizer sees the text.
struct AddedToken {
  std::string content;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = true;
  bool special = false;

  bool operator==(const AddedToken&) const = default;
};

// One of bos_token, eos_token, ...; `is_plain`: given as a string, without the flags of an added
// token. `is_default`: the class assumes it, no file names it.
struct SpecialToken {
  std::string role;  // "bos_token"
  AddedToken token;
  bool is_plain = true;
  bool is_default = false;
};

struct TokenizerConfig {
  std::string tokenizer_class;  // without the suffix Fast; by model_type if the config names none
  bool is_class_inferred = false;      // by model_type
  std::vector<SpecialToken> specials;  // in transformers' order of roles
  std::vector<AddedToken> additional;  // additional_special_tokens
  std::vector<AddedToken> added;       // added_tokens_decoder by id, or added_tokens.json
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::optional<bool> add_prefix_space;
  bool legacy = true;  // Llama: how the first space is made
  bool split_special_tokens = false;
  // Written by transformers 5, which puts framing and first space into tokenizer.json alone.
  bool has_backend = false;
  boost::json::object json;  // all of tokenizer_config.json

  // The text of a special token, nullopt if there is none.
  std::optional<std::string> special(std::string_view role) const;
};

// Reads the configs among `files`; those that do not exist count as empty. Throws Error.
TokenizerConfig read_tokenizer_config(const ModelFiles& files);
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace foretoken
