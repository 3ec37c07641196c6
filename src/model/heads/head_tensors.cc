#include "model/heads/head_tensors.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/log.h"

namespace foretoken {
namespace {

// The names of a checkpoint's tensors, in order.
class Names {
 public:
  explicit Names(const WeightSource& weights) {
    for (std::string& name : weights.names()) names_.insert(std::move(name));
  }

  bool empty() const { return names_.empty(); }
  bool has(const std::string& name) const { return names_.contains(name); }
  bool has_under(const std::string& prefix) const {
    const auto found = names_.lower_bound(prefix);
    return found != names_.end() && found->starts_with(prefix);
  }

 private:
  std::set<std::string> names_;
};

// ---- layers

void fit_layers(HeadConfig& head, const Names& names) {
  int stored = 0;
  while (stored < head.layer.layers && names.has_under(head.layer_prefix(stored))) ++stored;
  if (stored == 0 || stored == head.layer.layers) return;
  log_info("The draft head has {} of the {} layers that its config names.", stored,
           head.layer.layers);
  head.layer.layers = stored;
  if (!head.layer.layer_window.empty()) head.layer.layer_window.resize(at(stored));
  if (!head.layer.layer_chunk.empty()) head.layer.layer_chunk.resize(at(stored));
  if (!head.layer.layer_rope.empty()) head.layer.layer_rope.resize(at(stored));
}

// Whether any layer has one of these tensors. Those who have some need all, which is found out when
// they are read.
bool any_layer_has(const HeadConfig& head, const Names& names,
                   std::initializer_list<const char*> tensors) {
  for (int i = 0; i < head.layer.layers; ++i)
    for (const char* tensor : tensors)
      if (names.has(head.layer_prefix(i) + tensor)) return true;
  return false;
}

void fit_biases_and_norms(HeadConfig& head, const Names& names) {
  ModelConfig& layer = head.layer;
  const auto stored = [&](std::initializer_list<const char*> tensors) {
    return any_layer_has(head, names, tensors);
  };
  layer.qkv_bias =
      stored({"self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias",
              "self_attn.q_a_proj.bias", "self_attn.kv_a_proj_with_mqa.bias"});
  layer.o_bias = stored({"self_attn.o_proj.bias"});
  layer.mlp_bias = stored({"mlp.gate_proj.bias", "mlp.up_proj.bias", "mlp.down_proj.bias"});
  layer.qk_norm = stored({"self_attn.q_norm.weight", "self_attn.k_norm.weight"});
  head.join_bias = names.has(head.join_name + ".bias");
  head.tap_join_bias = names.has(head.tap_join_name + ".bias");
}

// SGLang calls the norm in front of later layers as that of the first one's feature, vLLM as that
// of a decoder's layers.
void fit_later_norms(HeadConfig& head, const Names& names) {
  head.later_norms.resize(at(head.layer.layers - 1), kUsualNorm);
  for (int i = 1; i < head.layer.layers; ++i) {
    const std::string usual = head.layer_prefix(i) + kUsualNorm;
    if (!names.has(head.norm_before(i) + ".weight") && names.has(usual + ".weight"))
      head.later_norms[at(i - 1)] = kUsualNorm;
  }
}

// ---- the output matrix

// The shape of a matrix kept as codes may not tell its rows; then the map to the target's tokens
// does.
std::int64_t stored_draft_vocab(const HeadConfig& head, const WeightSource& weights) {
  const auto matrix = weights.find("lm_head.weight", {});
  if (matrix && matrix->shape().rank() == 2 && matrix->dim(1) == head.layer.hidden)
    return matrix->dim(0);
  const auto map = weights.find("d2t", {});
  if (map && map->shape().rank() == 1) return map->dim(0);
  return head.draft_vocab > 0 ? head.draft_vocab : head.layer.vocab;
}

void fit_output_matrix(HeadConfig& head, const WeightSource& weights, const Names& names) {
  if (names.has_under("lm_head.")) {
    head.head_name = "lm_head";
    head.head_is_embedding = false;
    head.draft_vocab = stored_draft_vocab(head, weights);
  } else if (head.draft_vocab == head.layer.vocab && !head.has_embedding) {
    head.head_name.clear();  // the target's has these rows, too
    head.draft_vocab = 0;
  }
}

void check_output_matrix(const HeadConfig& head, const std::string& where) {
  const std::int64_t vocab = head.layer.vocab;
  if (head.head_is_embedding && head.draft_vocab != 0 && head.draft_vocab != vocab)
    throw Error({.what = "the draft head's embedding is no output matrix of its vocabulary",
                 .where = where,
                 .expected = fmt::format("lm_head.weight, or draft_vocab_size {}", vocab),
                 .found = fmt::format("draft_vocab_size {}", head.draft_vocab)});
  if (head.has_embedding && head.head_name.empty() && !head.head_is_embedding)
    throw Error({.what = "a draft head of another width than the target's has no output matrix",
                 .where = where,
                 .expected = "lm_head.weight, draft_vocab_size or tie_word_embeddings"});
  if (!head.head_name.empty() && (head.draft_vocab < 1 || head.draft_vocab > vocab))
    throw Error({.what = "the draft head's output matrix does not fit the target's vocabulary",
                 .where = where + ", tensor lm_head.weight",
                 .expected = fmt::format("1 to {} rows", vocab),
                 .found = std::to_string(head.draft_vocab)});
}

}  // namespace

void fit_to_tensors(HeadConfig& head, const WeightSource& weights) {
  const Names names(weights);
  const bool is_eagle3 = head.join == HeadConfig::Join::kLayer;
  if (!names.empty()) {
    fit_layers(head, names);
    fit_biases_and_norms(head, names);
    fit_later_norms(head, names);
    if (is_eagle3) fit_output_matrix(head, weights, names);
  }
  check_output_matrix(head, weights.where());
  if (head.head_is_embedding) head.draft_vocab = 0;
}

void check_quantization(const HeadConfig& head, const WeightSource& weights) {
  if (!head.quantization_fault) return;
  for (const std::string& name : weights.names()) {
    if (name.ends_with("d2t") || name.ends_with("t2d")) continue;
    const auto tensor = weights.find(name, {});
    if (tensor && !dtype_is_float(tensor->dtype())) throw Error(*head.quantization_fault);
  }
}

}  // namespace foretoken
