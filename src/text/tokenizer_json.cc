#include "text/tokenizer_json.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "text/rust_bridge.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::string_view kSpace = "\u2581";  // SentencePiece's visible space

constexpr std::string_view kLlama3Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

using Merge = std::pair<std::string, std::string>;

std::size_t count_chars(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

// All pairs of pieces that join to a piece, best score first; ties: longer parts first, then the
// order of the vocabulary. The order in which transformers' generate_merges puts them.
std::vector<Merge> merges_by_score(const SentencePieceModel& model) {
  struct Candidate {
    float score;
    std::size_t left_chars, right_chars;
    std::string_view left, right;
  };
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) ids[model.pieces[id].text] = id;

  std::vector<Candidate> candidates;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const std::string_view whole = model.pieces[id].text;
    if (ids.at(whole) != id) continue;  // a later piece of the same text stands for both
    const float score = id < 3 ? 0.0F : model.pieces[id].score;
    std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>
        splits;  // left id, right id, left bytes
    for (std::size_t at = 1; at < whole.size(); ++at) {
      if ((whole[at] & 0xC0) == 0x80) continue;
      const auto left = ids.find(whole.substr(0, at));
      const auto right = ids.find(whole.substr(at));
      if (left != ids.end() && right != ids.end())
        splits.emplace_back(left->second, right->second, at);
    }
    std::stable_sort(splits.begin(), splits.end());
    for (const auto& [left, right, at] : splits) {
      const std::string_view a = whole.substr(0, at);
      const std::string_view b = whole.substr(at);
      candidates.push_back({score, count_chars(a), count_chars(b), a, b});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::tie(a.score, a.left_chars, a.right_chars) >
                            std::tie(b.score, b.left_chars, b.right_chars);
                   });
  std::vector<Merge> merges;
  merges.reserve(candidates.size());
  for (const Candidate& candidate : candidates)
    merges.emplace_back(candidate.left, candidate.right);
  return merges;
}

json::array merge_list(const std::vector<Merge>& merges) {
  json::array list;
  list.reserve(merges.size());
  for (const auto& [left, right] : merges) list.push_back(json::array{left, right});
  return list;
}

// Parts of the file that every tokenizer has; the caller fills in the rest.
json::object skeleton(json::object model) {
  return {{"version", "1.0"},          {"truncation", nullptr},
          {"padding", nullptr},        {"added_tokens", json::array()},
          {"normalizer", nullptr},     {"pre_tokenizer", nullptr},
          {"post_processor", nullptr}, {"decoder", nullptr},
          {"model", std::move(model)}};
}

json::object replace_step(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

json::object byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json::object split_and_bytes(std::string_view regex, bool add_prefix_space) {
  json::object split = {{"type", "Split"},
                        {"pattern", {{"Regex", regex}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
  return {{"type", "Sequence"},
          {"pretokenizers", json::array{split, byte_level(add_prefix_space, false)}}};
}

std::vector<Merge> read_merges(const ModelFiles& files) {
  const std::string where = files.where("merges.txt");
  const auto text = files.read("merges.txt");
  if (!text) throw Error({"merges of the tokenizer are missing", where, "a file", "none"});
  std::vector<Merge> merges;
  std::string_view rest = *text;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos) {
      throw Error({"wrong line in merges of the tokenizer",
                   where + ", line " + std::to_string(line_number),
                   "two pieces with a space between", std::string(line.substr(0, 80))});
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

json::object read_vocab(const ModelFiles& files) {
  const std::string where = files.where("vocab.json");
  auto vocab = read_json_file(files, "vocab.json");
  if (!vocab) throw Error({"vocabulary of the tokenizer is missing", where, "a file", "none"});
  for (const auto& [piece, id] : *vocab) {
    if (!id.is_int64() || id.as_int64() < 0) {
      throw Error({"wrong token id in a vocabulary", where, "a number from 0",
                   "piece " + std::string(piece)});
    }
  }
  return std::move(*vocab);
}

}  // namespace

std::string tokenizer_json_from_sentencepiece(const SentencePieceModel& model,
                                              const TokenizerConfig& config,
                                              const std::string& where) {
  if (model.type != SentencePieceModel::kBpe) {
    throw Error({"unsupported SentencePiece model", where, "type 2 (BPE)",
                 "type " + std::to_string(model.type)});
  }
  json::object vocab;
  json::array added;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    vocab[piece.text] = id;
    if (piece.type != SentencePiece::kControl && piece.type != SentencePiece::kUserDefined)
      continue;
    added.push_back({{"id", id},
                     {"content", piece.text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", piece.type == SentencePiece::kControl}});
  }
  json::object file = skeleton({{"type", "BPE"},
                                {"dropout", nullptr},
                                {"unk_token", model.pieces.front().text},
                                {"continuing_subword_prefix", nullptr},
                                {"end_of_word_suffix", nullptr},
                                {"fuse_unk", true},
                                {"byte_fallback", true},
                                {"ignore_merges", false},
                                {"vocab", std::move(vocab)},
                                {"merges", merge_list(merges_by_score(model))}});
  file["added_tokens"] = std::move(added);
  const bool has_prefix_space = config.add_prefix_space.value_or(true);
  if (config.legacy) {
    json::array steps;
    if (has_prefix_space) steps.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
    steps.push_back(replace_step(" ", kSpace));
    file["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  } else {
    file["pre_tokenizer"] = {{"type", "Metaspace"},
                             {"replacement", kSpace},
                             {"prepend_scheme", has_prefix_space ? "first" : "never"},
                             {"split", false}};
  }
  json::array decoders = {
      replace_step(kSpace, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (has_prefix_space) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  file["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
  return json::serialize(file);
}

std::string tokenizer_json_from_merges(const ModelFiles& files, const TokenizerConfig& config) {
  const std::string& name = config.tokenizer_class;
  const bool is_qwen2 = name == "Qwen2Tokenizer";
  const bool is_gpt2 = name == "GPT2Tokenizer";
  const bool is_llama3 = name == "PreTrainedTokenizer" || name == "LlamaTokenizer";
  if (!is_qwen2 && !is_gpt2 && !is_llama3) {
    throw Error(
        {"tokenizer_class has no rule for vocab.json and merges.txt", files.where(),
         "Qwen2Tokenizer, GPT2Tokenizer, PreTrainedTokenizerFast (Llama 3) or a tokenizer.json",
         name.empty() ? "none" : name});
  }
  json::object file =
      skeleton({{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", is_llama3 ? json::value() : json::value("")},
                {"end_of_word_suffix", is_llama3 ? json::value() : json::value("")},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", is_llama3},
                {"vocab", read_vocab(files)},
                {"merges", merge_list(read_merges(files))}});
  const bool has_prefix_space = config.add_prefix_space.value_or(false);
  if (is_qwen2) file["normalizer"] = {{"type", "NFC"}};
  file["pre_tokenizer"] =
      is_gpt2 ? byte_level(has_prefix_space, true)
              : split_and_bytes(is_llama3 ? kLlama3Split : kQwen2Split, has_prefix_space);
  file["post_processor"] = byte_level(is_llama3, is_llama3);
  file["post_processor"].as_object()["trim_offsets"] = false;
  file["decoder"] = byte_level(true, true);
  return json::serialize(file);
}

}  // namespace foretoken
