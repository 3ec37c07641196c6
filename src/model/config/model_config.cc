#include "model/config/model_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/serialize.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/json_text.h"
#include "model/config/context_length.h"
#include "model/config/family_table.h"
#include "model/config/generation_config.h"
#include "model/config/rope_config.h"
#include "model/config/rope_settings.h"
#include "tensor/dtype_names.h"

namespace foretoken {
namespace {

// Keys of features that change the computation and that the decoder does not have. `inert` is the
// value with which the feature does nothing; null, false and 0 do nothing either.
struct ForeignFeature {
  std::string_view key;
  std::string_view name;
  double inert = 0.0;
};

constexpr ForeignFeature kForeignFeatures[] = {
    {"num_experts", "mixture of experts"},
    {"num_local_experts", "mixture of experts", 1.0},
    {"n_routed_experts", "mixture of experts"},
    {"moe_intermediate_size", "mixture of experts"},
    {"num_experts_per_tok", "mixture of experts"},
    {"partial_rotary_factor", "partial rotary embeddings", 1.0},
    {"attn_logit_softcapping", "softcapping of attention logits"},
    {"final_logit_softcapping", "softcapping of logits"},
    {"attention_sinks", "attention sinks"},
    {"use_attention_sinks", "attention sinks"},
    {"attention_chunk_size", "chunked attention"},
    {"no_rope_layers", "layers without rotary embeddings"},
    {"no_rope_layer_interval", "layers without rotary embeddings"},
    {"clip_qkv", "clipping of q, k and v"},
    {"parallel_attn", "parallel attention and MLP"},
    {"use_parallel_residual", "parallel attention and MLP"},
    {"embedding_multiplier", "scaled embeddings", 1.0},
    {"residual_multiplier", "scaled residuals", 1.0},
    {"attention_multiplier", "scaled attention"},
    {"logits_scaling", "scaled logits", 1.0},
    {"logit_scale", "scaled logits", 1.0},
    {"kv_lora_rank", "latent attention"},
};

bool is_inert(const boost::json::value& value, double inert) {
  if (value.is_bool()) return !value.get_bool();
  if (value.is_int64()) return value.get_int64() == 0 || value.get_int64() == std::lround(inert);
  if (value.is_double()) return value.get_double() == 0.0 || value.get_double() == inert;
  return false;
}

void refuse_foreign_features(const FileFields& fields, const Family& family) {
  const auto is_read = [&](std::string_view key) {
    return std::ranges::find(family.features, key) != family.features.end();
  };
  for (const ForeignFeature& feature : kForeignFeatures) {
    if (is_read(feature.key)) continue;
    const boost::json::value* value = fields.find(feature.key);
    if (value == nullptr || is_inert(*value, feature.inert)) continue;
    throw Error({"the model uses " + std::string(feature.name) + ", which is not supported",
                 fields.where(),
                 {},
                 "\"" + std::string(feature.key) + "\": " + boost::json::serialize(*value)});
  }
  if (!fields.boolean("is_causal").value_or(true))
    throw Error({"the model looks ahead, which is not supported",
                 fields.where(),
                 {},
                 "\"is_causal\": false"});
  if (is_read("hidden_act")) return;
  const std::string activation = fields.string("hidden_act").value_or("silu");
  if (activation != "silu" && activation != "swish") fields.refuse("hidden_act", "silu");
}

void parse_sizes(const FileFields& fields, const Family::Absent& absent, ModelConfig& config) {
  const IntRange width{1, 1 << 20}, count{1, 1 << 14};
  auto size = [&](std::string_view key, IntRange range) {
    return static_cast<int>(fields.required_integer(key, range));
  };
  auto size_or = [&](std::string_view key, int fallback) {
    return static_cast<int>(fields.integer(key, count).value_or(fallback));
  };
  config.layers = size("num_hidden_layers", count);
  config.hidden = size("hidden_size", width);
  config.intermediate = absent.intermediate == 0
                            ? size("intermediate_size", width)
                            : size_or("intermediate_size", absent.intermediate);
  config.heads = absent.heads == 0 ? size("num_attention_heads", count)
                                   : size_or("num_attention_heads", absent.heads);
  // Absent takes the family's value, null means as many as heads.
  const bool is_null = fields.has_null("num_key_value_heads");
  config.kv_heads = size_or("num_key_value_heads",
                            is_null || absent.kv_heads == 0 ? config.heads : absent.kv_heads);
  if (config.heads % config.kv_heads != 0)
    fields.refuse("num_key_value_heads",
                  "a divisor of num_attention_heads = " + std::to_string(config.heads));
  config.head_dim =
      size_or("head_dim", absent.head_dim > 0 ? absent.head_dim : config.hidden / config.heads);
  if (config.head_dim < 2 || config.head_dim % 2 != 0)
    throw Error(
        {"bad head size", fields.where(), "an even head_dim", std::to_string(config.head_dim)});
  config.vocab = absent.vocab == 0 ? fields.required_integer("vocab_size", {1})
                                   : fields.integer("vocab_size", {1}).value_or(absent.vocab);
  config.max_position =
      fields.integer("max_position_embeddings", {1}).value_or(absent.max_position);
  const double eps = fields.number("rms_norm_eps").value_or(absent.rms_eps);
  if (eps < 0.0) fields.refuse("rms_norm_eps", "a number of at least 0");
  config.rms_eps = static_cast<float>(eps);
}

void check_layer_types(const FileFields& fields, const Family& family) {
  const auto types = fields.strings("layer_types");
  if (!types) return;
  const bool has_chunks = std::ranges::count(family.features, "attention_chunk_size") > 0;
  const std::string local = has_chunks ? "chunked_attention" : "sliding_attention";
  for (const std::string& type : *types)
    if (type != "full_attention" && type != local)
      fields.refuse("layer_types", "full_attention or " + local);
}

// None where the config leaves it to the tensors.
std::optional<DType> parse_dtype(const FileFields& fields) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    const auto name = fields.string(key);
    if (!name || *name == "auto") continue;
    const auto dtype = float_dtype_named(*name);
    if (!dtype) fields.refuse(key, "bfloat16, float16 or float32");
    return dtype;
  }
  return std::nullopt;
}

// Blocks that are read with the stacks that they lie in (decoder/stacked_experts.h).
bool is_of_stacked_experts(const boost::json::object& stored, const ModelConfig& config) {
  const auto* const method = stored.if_contains("quant_method");
  return config.experts.stacks == ExpertStacks::kTurned && method != nullptr && *method == "mxfp4";
}

// Some families had another name for it, which has priority, as in transformers.
bool is_tied(const FileFields& fields, const Family& family) {
  const bool usual = fields.boolean("tie_word_embeddings").value_or(family.absent.tied_embeddings);
  const bool has_older = std::ranges::count(family.features, "tie_embedding") > 0;
  return has_older ? fields.boolean("tie_embedding").value_or(usual) : usual;
}

// All but the names of the model.
ModelConfig parse_model(const FileFields& fields, const Family& family) {
  refuse_foreign_features(fields, family);
  if (!family.has_states) check_layer_types(fields, family);
  ModelConfig config;
  parse_sizes(fields, family.absent, config);
  if (family.resize != nullptr) family.resize(fields, config);
  static_cast<Blocks&>(config) = family.read(fields, config);
  if (config.latent.is_on()) {
    config.kv_heads = 1;
    config.head_dim = config.latent.kv_rank + config.latent.rope_dim;
  }
  config.rope_theta = family.absent.rope_theta;
  parse_rope(fields, config);
  config.tied_embeddings = is_tied(fields, family);
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers"})
    if (const auto heads = fields.integer(key, {0, 1 << 14}))
      config.mtp_layers = static_cast<int>(*heads);
  config.mtp_has_embedding = fields.boolean("mtp_use_dedicated_embeddings").value_or(false);
  config.stored_dtype = parse_dtype(fields);
  for (const char* key : {"quantization_config", "compression_config"})
    if (const auto* stored = fields.object(key);
        stored != nullptr && !stored->empty() && !is_of_stacked_experts(*stored, config))
      config.stored_quantization = StoredQuantization::parse(*stored, fields.where());
  const IntRange tokens{0, std::numeric_limits<Token>::max()};
  config.eos = eos_tokens(fields);
  if (const auto bos = fields.integers("bos_token_id", tokens); !bos.empty())
    config.bos = static_cast<Token>(bos.front());
  config.context_length = default_context_length(config);
  return config;
}

void override_key(boost::json::object& config, std::string_view key,
                  const boost::json::value& value) {
  config[key] = key == "rope_scaling" ? overridden_scaling(config, value) : value;
}

// The config of the text in a model that sees images, too: nested in that of the whole, of which
// what is said of all weights and of tokens counts. So do overrides of its keys.
boost::json::object text_config(const FileFields& whole, const Family& family,
                                const boost::json::object& overrides) {
  constexpr std::string_view kOfAll[] = {"dtype",
                                         "torch_dtype",
                                         "quantization_config",
                                         "compression_config",
                                         "tie_word_embeddings",
                                         "tie_embedding",
                                         "eos_token_id",
                                         "bos_token_id"};
  constexpr std::string_view kOfWhole[] = {"architectures", "model_type", "text_config"};
  const auto* const nested = whole.object("text_config");
  const bool is_flat = nested == nullptr && family.read != nullptr;
  if (nested == nullptr && !is_flat) whole.refuse_missing("text_config");
  boost::json::object text = is_flat ? whole.all() : *nested;
  if (is_flat) text.erase("model_type");
  for (const std::string_view key : kOfAll)
    if (const auto* const value = whole.find(key)) text[key] = *value;
  constexpr std::string_view kTied = "tie_word_embeddings";
  const auto* const inner = is_flat ? nullptr : nested->if_contains(kTied);
  const bool ties = inner != nullptr && *inner == true;
  // Where the whole does not say it, that the text alone would not be tied says nothing. Of
  // families whose sizes once stood beside the towers' both may say so.
  if (!is_flat && !whole.has(kTied)) text[kTied] = ties || family.absent.tied_embeddings;
  if (ties && family.read != nullptr) text[kTied] = true;
  for (const auto& [key, value] : overrides)
    if (std::ranges::count(kOfWhole, std::string_view(key)) == 0) override_key(text, key, value);
  return text;
}

ModelConfig parse_text(const FileFields& whole, const Family& family,
                       const boost::json::object& overrides) {
  boost::json::object text = text_config(whole, family, overrides);
  if (!text.contains("tie_word_embeddings"))
    text["tie_word_embeddings"] = family.absent.tied_embeddings;
  const FileFields fields(
      text, whole.has("text_config") ? whole.where() + ", text_config" : whole.where());
  const auto type = fields.string("model_type").value_or(std::string(family.text_type));
  const bool is_own = family.read != nullptr && type == family.text_type;
  const Family* const of_text = is_own ? &family : text_family_of_type(type);
  if (of_text == nullptr)
    throw Error({"this model architecture is not supported", fields.where(),
                 "model_type of a text model that is served", type});
  ModelConfig config = parse_model(fields, *of_text);
  if (family.check_text != nullptr) family.check_text(fields, config);
  config.has_towers = true;
  return config;
}

}  // namespace

int ModelConfig::kv_layers() const {
  int own = 0;
  while (own < layers && kv_of(own) == own) ++own;
  return own;
}

int ModelConfig::widest_head() const {
  int widest = 0;
  for (int layer = 0; layer < layers; ++layer) widest = std::max(widest, heads_of(layer).dim);
  return widest;
}

int ModelConfig::widest_mlp() const {
  int widest = 0;
  for (int layer = 0; layer < layers; ++layer) widest = std::max(widest, intermediate_of(layer));
  return widest;
}

ModelConfig ModelConfig::parse(const std::string& json, const std::string& where,
                               const std::string& overrides) {
  boost::json::object object = read_json_object(json, where);
  boost::json::object changes;
  if (!overrides.empty()) changes = read_json_object(overrides, "model config overrides");
  for (const auto& [key, value] : changes) override_key(object, key, value);
  const FileFields fields(object, where);
  const Family& family = family_of(fields);
  ModelConfig config =
      family.has_towers() ? parse_text(fields, family, changes) : parse_model(fields, family);
  config.architecture = family.architecture;
  config.model_type = fields.string("model_type").value_or("");
  return config;
}

}  // namespace foretoken
