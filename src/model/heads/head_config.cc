#include "model/heads/head_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/serialize.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/index.h"
#include "base/json_text.h"
#include "checkpoint/model_files.h"
#include "model/config/family_table.h"

namespace foretoken {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// ---- EAGLE-3

// What enters layers 2, L / 2 and L - 3, which is what leaves the ones before them.
std::vector<int> usual_taps(int layers) { return {2, layers / 2, layers - 3}; }

// Inside eagle_config (SGLang) numbers are of layers that are left, at the top (vLLM, speculators)
// of layers that are entered.
std::vector<int> read_taps(const FileFields& fields, const char* key, bool are_left,
                           const ModelConfig& target) {
  std::vector<int> taps;
  for (const std::int64_t layer : fields.integers(key, {.low = are_left ? -1 : 0, .high = 1 << 20}))
    taps.push_back(static_cast<int>(layer) + (are_left ? 1 : 0));
  if (taps.empty()) taps = usual_taps(target.layers);
  if (taps.front() < 0 || taps.back() > target.layers || !std::is_sorted(taps.begin(), taps.end()))
    throw Error(
        {.what = "the draft head reads layers that the target does not have",
         .where = fields.where(),
         .expected = are_left
                         ? fmt::format("ascending outputs of layers 0 to {}", target.layers - 1)
                         : fmt::format("ascending inputs of layers 0 to {}, the last of "
                                       "which is the output of all",
                                       target.layers),
         .found = fmt::format("what enters layers {}", fmt::join(taps, ", "))});
  return taps;
}

std::vector<int> find_taps(const FileFields& fields, const ModelConfig& target) {
  constexpr const char *kTaps = "eagle_aux_hidden_state_layer_ids",
                       *kShortName = "aux_hidden_state_layer_ids";
  if (const auto* object = fields.object("eagle_config")) {
    const FileFields inner(*object, fields.where() + ", eagle_config");
    if (inner.find(kTaps) != nullptr) return read_taps(inner, kTaps, true, target);
  }
  return read_taps(fields, fields.find(kTaps) != nullptr ? kTaps : kShortName, false, target);
}

// A flag of the head, which some writers put into "eagle_config".
bool eagle_flag(const FileFields& fields, const char* key, bool fallback = false) {
  if (const auto own = fields.boolean(key)) return *own;
  const auto* inner = fields.object("eagle_config");
  if (inner == nullptr) return fallback;
  return FileFields(*inner, fields.where() + ", eagle_config").boolean(key).value_or(fallback);
}

void read_features(const FileFields& fields, const ModelConfig& target, HeadConfig& head) {
  if (!eagle_flag(fields, "use_aux_hidden_state", true)) {
    head.taps.last_hidden = true;
    return;
  }
  head.taps.layer_inputs = find_taps(fields, target);
  const auto count = fields.integer("num_aux_hidden_states");
  if (count && *count != static_cast<std::int64_t>(head.taps.layer_inputs.size()))
    fields.refuse("num_aux_hidden_states", std::to_string(head.taps.layer_inputs.size()));
  head.tap_join_name = "fc";
  head.tap_join_bias = eagle_flag(fields, "bias");
  if (eagle_flag(fields, "norm_before_fc")) head.taps_norm = "input_norm";
  if (eagle_flag(fields, "fc_norm") || eagle_flag(fields, "use_aux_norm"))
    head.tap_norms_name = "fc_norm.";
}

void read_eagle3(const FileFields& fields, const ModelConfig& target, HeadConfig& head) {
  head.join = HeadConfig::Join::kLayer;
  head.layers_name = "layers.";
  head.embedding_norm = "layers.0.input_layernorm";
  head.feature_norm = "layers.0.hidden_norm";
  head.later_norms.assign(at(head.layer.layers - 1), "hidden_norm");
  head.final_norm = "norm";
  head.norm_before_residual = eagle_flag(fields, "norm_before_residual");
  head.recurs_before_norm = !eagle_flag(fields, "norm_output");
  head.target_hidden = fields.integer("target_hidden_size").value_or(target.hidden);
  read_features(fields, target, head);

  head.has_embedding = head.layer.hidden != target.hidden;
  head.draft_vocab = fields.integer("draft_vocab_size", {.low = 1}).value_or(0);
  head.head_is_embedding = head.layer.tied_embeddings;
  if (head.draft_vocab > 0 && !head.head_is_embedding) head.head_name = "lm_head";
  if (head.draft_vocab > target.vocab)
    fields.refuse("draft_vocab_size", fmt::format("at most {}", target.vocab));
}

// ---- EAGLE and EAGLE-2

void read_eagle(const FileFields& fields, HeadConfig& head) {
  head.layers_name = "layers.";
  head.join_name = "fc";
  head.join_bias = fields.boolean("bias").value_or(true);
  head.taps.last_hidden = true;
}

// ---- checks

// Some writers put the keys of the head's layers into an object of their own. What stands beside it
// is of the whole head and counts, but for model_type, which there only names the writer's format.
boost::json::object flat_keys(const boost::json::object& json) {
  for (const char* name : {"transformer_layer_config", "model"}) {
    const auto* const inner = json.if_contains(name);
    if (inner == nullptr || !inner->is_object()) continue;
    boost::json::object keys = inner->get_object();
    for (const auto& [key, value] : json) {
      const bool counts = !value.is_null() && key != "model_type";
      if (key != name && (counts || !keys.contains(key))) keys[key] = value;
    }
    return keys;
  }
  return json;
}

// The architecture of the decoder that the head's layers belong to. Where the head's name does not
// say, the type of its layers does.
std::string layer_architecture(const std::string& architecture, const std::string& model_type) {
  const Family* named = nullptr;
  for (const Family* family : families())
    if (!family->has_towers() && architecture.find(family->name()) != std::string::npos)
      named = family;
  if (named == nullptr) named = text_family_of_type(model_type);
  return std::string((named != nullptr ? named : families().front())->architecture);
}

// A head without a name is what it is asked for as, unless its keys say more.
void check_family(const FileFields& fields, const std::string& architecture, HeadFamily family) {
  if (contains(architecture, "DFlash") || fields.has("dflash_config"))
    throw Error({.what = "not supported yet: draft heads of DFLASH",
                 .where = fields.where(),
                 .expected = "a head of EAGLE, EAGLE-3 or NextN",
                 .found = architecture});
  const bool is_eagle3 = contains(architecture, "Eagle3") || contains(architecture, "EAGLE3") ||
                         fields.find("draft_vocab_size") != nullptr ||
                         fields.string("speculators_model_type") == "eagle3";
  if (is_eagle3 == (family == HeadFamily::kEagle3) || (architecture.empty() && !is_eagle3)) return;
  throw Error(
      {.what = is_eagle3 ? "the draft model is an EAGLE-3 head"
                         : "the draft model is not an EAGLE-3 head",
       .where = fields.where(),
       .expected = is_eagle3 ? "--speculative-algorithm EAGLE3" : "--speculative-algorithm EAGLE",
       .found = (architecture.empty() ? "a head without a name" : architecture) +
                (is_eagle3 ? " under EAGLE" : " under EAGLE3")});
}

void check_target(const FileFields& fields, const HeadConfig& head, const ModelConfig& target) {
  const auto check = [&](const char* key, std::int64_t expected, std::int64_t found) {
    if (expected == found) return;
    throw Error({.what = "the draft head was made for another model",
                 .where = fields.where(),
                 .expected = fmt::format("{} {}", key, expected),
                 .found = std::to_string(found)});
  };
  check("vocab_size", target.vocab, head.layer.vocab);
  if (fields.find("target_hidden_size") != nullptr)
    check("target_hidden_size", target.hidden, head.target_hidden);
  else
    check("hidden_size", target.hidden, head.layer.hidden);
  if (head.taps.last_hidden) check("hidden_size", target.hidden, head.layer.hidden);
}

// Takes what says how matrices are kept out of a config where it cannot be read, and tells why.
std::optional<Error> drop_unread_quantization(boost::json::object& json, const std::string& where) {
  std::optional<Error> fault;
  for (const char* key : {"quantization_config", "compression_config"}) {
    const auto* const stored = json.if_contains(key);
    if (stored == nullptr || !stored->is_object()) continue;
    try {
      StoredQuantization::parse(stored->get_object(), where);
    } catch (const Error& error) {
      fault = error;
      json.erase(key);
    }
  }
  return fault;
}

// ---- MTP

HeadConfig nextn_layer(int number) {
  HeadConfig head;
  head.layers_name = "model.layers.";
  head.first_layer = number;
  const std::string layer = head.layer_prefix(0);
  head.join_name = layer + "eh_proj";
  head.embedding_norm = layer + "enorm";
  head.feature_norm = layer + "hnorm";
  head.final_norm = layer + "shared_head.norm";
  return head;
}

// NextN numbers its layers after the target's last ...
HeadConfig nextn_head(const ModelConfig& config, int depth) {
  return nextn_layer(config.layers + depth);
}

// ... and from 0 where they are exported without it.
HeadConfig lone_nextn_head(const ModelConfig&, int depth) { return nextn_layer(depth); }

HeadConfig mimo_head(const ModelConfig&, int depth) {
  HeadConfig head;
  head.layers_name = "model.mtp_layers.";
  head.first_layer = depth;
  const std::string layer = head.layer_prefix(0);
  head.join_name = layer + "input_proj";
  head.embedding_norm = layer + "token_layernorm";
  head.feature_norm = layer + "hidden_layernorm";
  head.final_norm = layer + "final_layernorm";
  head.feature_first = true;
  head.first_embedding_is_zero = true;
  head.all_read_target = true;
  return head;
}

// Only the layer itself is one of several.
HeadConfig qwen_mtp_head(const ModelConfig& config, int depth) {
  HeadConfig head;
  head.has_embedding = config.mtp_has_embedding;
  head.embedding_name = "mtp.embed_tokens";
  head.layers_name = "mtp.layers.";
  head.first_layer = depth;
  head.join_name = "mtp.fc";
  head.embedding_norm = "mtp.pre_fc_norm_embedding";
  head.feature_norm = "mtp.pre_fc_norm_hidden";
  head.final_norm = "mtp.norm";
  return head;
}

// A make of heads, one line each.
struct Make {
  HeadConfig (*head)(const ModelConfig& target, int depth);
  // Of all tensors of such heads; null: they have those of their layers.
  const char* prefix = nullptr;
  std::string_view architecture = {};  // of targets that come with them; empty: of any
};
constexpr std::array<Make, 4> kMakes{{{mimo_head, "model.mtp_layers.", "MiMoForCausalLM"},
                                      {nextn_head},
                                      {qwen_mtp_head, "mtp."},
                                      {lone_nextn_head}}};

// What made-up weights are taken for.
const Make& usual_make(const std::string& architecture) {
  for (const Make& make : kMakes)
    if (make.architecture.empty() || make.architecture == architecture) return make;
  return kMakes.back();
}

bool has_matrix(const std::vector<std::string>& names, const std::string& matrix) {
  return std::ranges::count(names, matrix + ".weight") > 0;
}

// The head of a make for a depth, complete.
HeadConfig mtp_head(const Make& make, const ModelConfig& config, int depth) {
  HeadConfig head = make.head(config, depth);
  head.layer = one_usual_layer(config);
  // What follows the last layer has experts where that one has.
  if (auto& layers = head.layer.experts.layers; !layers.empty()) layers = {layers.back()};
  head.target_hidden = config.hidden;
  head.taps.last_hidden = true;
  head.input_norm = head.layer_prefix(0) + "input_layernorm";
  return head;
}

}  // namespace

HeadConfig read_head_config(const std::string& folder, HeadFamily family,
                            const ModelConfig& target) {
  const auto files = open_model_files(folder);
  const std::string path = files->where("config.json");
  const auto text = files->read("config.json");
  if (!text) throw Error({"the draft model's folder has no config.json", folder, {}, {}});
  auto json = flat_keys(read_json_object(*text, path));
  HeadConfig head;
  head.quantization_fault = drop_unread_quantization(json, path);
  const FileFields fields(json, path);
  const auto names = fields.strings("architectures");
  const std::string architecture = names && !names->empty() ? names->front() : "";
  check_family(fields, architecture, family);

  head.is_whole_checkpoint = true;
  head.layer = ModelConfig::parse(
      boost::json::serialize(json), path,
      fmt::format(R"({{"architectures":["{}"]}})",
                  layer_architecture(architecture, fields.string("model_type").value_or(""))));
  head.layer.context_length = target.context_length;
  head.target_hidden = target.hidden;
  if (family == HeadFamily::kEagle3)
    read_eagle3(fields, target, head);
  else
    read_eagle(fields, head);
  check_target(fields, head, target);
  return head;
}

ModelConfig one_usual_layer(ModelConfig target) {
  target.layers = 1;
  target.layer_window.clear();
  target.layer_chunk.clear();
  target.layer_rope.clear();
  target.layer_heads.clear();
  target.layer_kv.clear();
  target.values_are_keys.clear();
  target.layer_intermediate.clear();
  target.inputs = {};
  target.recurrent = {};
  return target;
}

std::vector<HeadConfig> find_mtp_heads(const std::vector<std::string>& names,
                                       const ModelConfig& config) {
  constexpr int kMostHeads = kPageTokens - 1;
  std::vector<HeadConfig> heads;
  if (names.empty()) {
    const Make& make = usual_make(config.architecture);
    for (int depth = 0; depth < std::min(config.mtp_layers, kMostHeads); ++depth)
      heads.push_back(mtp_head(make, config, depth));
    return heads;
  }
  for (const Make& make : kMakes) {
    if (!has_matrix(names, make.head(config, 0).join_name)) continue;
    heads.push_back(mtp_head(make, config, 0));
    for (int depth = 1; depth < kMostHeads; ++depth) {
      HeadConfig head = mtp_head(make, config, depth);
      if (!has_matrix(names, head.join_name) || !has_matrix(names, head.input_norm)) break;
      heads.push_back(std::move(head));
    }
    break;
  }
  return heads;
}

std::vector<std::string> mtp_prefixes(const std::vector<std::string>& names,
                                      const ModelConfig& config) {
  std::vector<std::string> prefixes;
  for (const Make& make : kMakes)
    if (make.prefix != nullptr) prefixes.emplace_back(make.prefix);
  for (int depth = 0;; ++depth) {
    const HeadConfig head = nextn_head(config, depth);
    if (!has_matrix(names, head.join_name)) return prefixes;
    prefixes.push_back(head.layer_prefix(0));
  }
}

}  // namespace foretoken
