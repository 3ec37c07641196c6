#include "engine/testing/random_heads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/heads/head_chain.h"
#include "model/heads/query_head.h"

namespace foretoken {
namespace {

HeadConfig eagle(const ModelConfig& target) {
  HeadConfig head;
  head.layer = one_usual_layer(target);
  head.layer.qk_norm = false;
  head.taps.last_hidden = true;
  head.target_hidden = target.hidden;
  head.layers_name = "layers.";
  head.join_name = "fc";
  head.join_bias = true;
  return head;
}

// Two layers, a window, half of the vocabulary.
HeadConfig eagle3(const ModelConfig& target) {
  HeadConfig head = eagle(target);
  head.layer.layers = 2;
  head.layer.layer_window = {24, 24};
  head.layer.is_parallel = false;  // its first layer reads more than its MLP
  head.layer.norms = {};
  head.taps = {.last_hidden = false, .layer_inputs = {0, target.layers / 2, target.layers}};
  head.join = HeadConfig::Join::kLayer;
  head.join_name.clear();
  head.tap_join_name = "fc";
  head.embedding_norm = "layers.0.input_layernorm";
  head.feature_norm = "layers.0.hidden_norm";
  head.later_norms = {"hidden_norm"};
  head.final_norm = "norm";
  head.recurs_before_norm = true;
  head.draft_vocab = target.vocab / 2;
  head.head_name = "lm_head";
  return head;
}

std::vector<HeadConfig> mtp(ModelConfig target, const char* architecture, int heads) {
  target.mtp_layers = heads;
  target.architecture = architecture;
  return find_mtp_heads({}, target);
}

std::vector<HeadConfig> heads_of(RandomHead kind, const ModelConfig& target) {
  constexpr const char *kMimo = "MiMoForCausalLM", *kNextn = "LlamaForCausalLM";
  switch (kind) {
    case RandomHead::kEagle:
    case RandomHead::kFrSpec:
    case RandomHead::kQueries:
      return {eagle(target)};
    case RandomHead::kEagle3:
      return {eagle3(target)};
    case RandomHead::kMimo:
      return mtp(target, kMimo, 1);
    case RandomHead::kNextn:
      return mtp(target, kNextn, 1);
    case RandomHead::kMimos:
      return mtp(target, kMimo, 2);
    case RandomHead::kNextns:
      return mtp(target, kNextn, 3);
  }
  return {};
}

DraftedTokens every_third(std::int64_t vocab) {
  std::vector<Token> tokens;
  for (std::int64_t token = vocab - 1; token >= 0; token -= 3)
    tokens.push_back(static_cast<Token>(token));
  return {std::move(tokens), vocab, {}};
}

// A narrow layer for each of the target's last two that keep keys and values.
QueryHeadConfig queries(const ModelConfig& target) {
  QueryHeadConfig head{.layer = target, .target_hidden = target.hidden};
  ModelConfig& layer = head.layer;
  layer.hidden = 40;
  layer.intermediate = 72;
  layer.layers = std::min(2, target.kv_layers());
  static_cast<Blocks&>(layer) = {.qk_norm = true, .local_rope_theta = target.local_rope_theta};
  for (int i = 0; i < layer.layers; ++i) {
    const int source = target.kv_layers() - layer.layers + i;
    layer.layer_window.push_back(target.window(source));
    layer.layer_rope.push_back(target.rope_of(source));
    layer.layer_heads.push_back(target.heads_of(source));
    layer.layer_kv.push_back(layer.layers + source);
  }
  return head;
}

}  // namespace

void PrintTo(RandomHead head, std::ostream* out) {
  constexpr const char* kNames[] = {"eagle", "frspec", "eagle3", "mimo",
                                    "nextn", "mimos",  "nextns", "queries"};
  *out << kNames[static_cast<int>(head)];
}

std::unique_ptr<DraftModel> random_head(Ops& ops, const Decoder& target, RandomHead kind,
                                        const Quantization& quantization,
                                        std::optional<DType> kv_dtype) {
  ModelConfig config = target.config();
  config.kv_dtype = kv_dtype;
  if (kind == RandomHead::kQueries && !config.latent.is_on() && config.recurrent.layers.empty())
    return std::make_unique<QueryHead>(ops, queries(config), *dummy_weights(17), target,
                                       quantization);
  std::optional<DraftedTokens> drafted;
  if (kind == RandomHead::kFrSpec) drafted.emplace(every_third(config.vocab));
  return make_heads(ops, heads_of(kind, config), *dummy_weights(17), target, std::move(drafted),
                    quantization);
}

}  // namespace foretoken
