#include "model/config/model_config.h"

#include <array>
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
#include "model/config/generation_config.h"
#include "model/config/rope_config.h"
#include "tensor/dtype_names.h"

namespace foretoken {
namespace {

// What an architecture adds to, or assumes where config.json is silent about, the common decoder.
// The numbers are Hugging Face's defaults for absent keys.
struct Family {
  std::string_view architecture;
  std::string_view model_type;
  int default_kv_heads;  // 0: as many as heads
  int default_head_dim;  // 0: hidden / heads
  std::int64_t default_max_position;
  bool always_qkv_bias;
  bool has_bias_flags;  // attention_bias and mlp_bias
  bool has_qk_norm;
  enum class Window { kNone, kAllLayers, kUpperLayers } window;
};

constexpr std::array<Family, 5> kFamilies{{
    {"LlamaForCausalLM", "llama", 0, 0, 2048, false, true, false, Family::Window::kNone},
    {"MistralForCausalLM", "mistral", 8, 0, 131072, false, true, false, Family::Window::kAllLayers},
    {"Qwen2ForCausalLM", "qwen2", 32, 0, 32768, true, false, false, Family::Window::kUpperLayers},
    {"Qwen3ForCausalLM", "qwen3", 32, 128, 32768, false, true, true, Family::Window::kUpperLayers},
    {"MiMoForCausalLM", "mimo", 32, 0, 32768, true, false, false, Family::Window::kUpperLayers},
}};

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

void refuse_foreign_features(const FileFields& fields) {
  for (const ForeignFeature& feature : kForeignFeatures) {
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
  const std::string activation = fields.string("hidden_act").value_or("silu");
  if (activation != "silu" && activation != "swish") fields.refuse("hidden_act", "silu");
}

const Family& find_family(const FileFields& fields) {
  const auto names = fields.strings("architectures");
  // Configs written for a base class name none; then the type of the model tells.
  if (!names || names->empty()) {
    const std::string type = fields.string("model_type").value_or("");
    for (const Family& family : kFamilies)
      if (type == family.model_type) return family;
    fields.refuse_missing("architectures");
  }
  std::string supported;
  for (const Family& family : kFamilies) {
    if (names->front() == family.architecture) return family;
    supported += (supported.empty() ? "" : ", ") + std::string(family.architecture);
  }
  throw Error(
      {"this model architecture is not supported", fields.where(), supported, names->front()});
}

void parse_sizes(const FileFields& fields, const Family& family, ModelConfig& config) {
  const IntRange width{1, 1 << 20}, count{1, 1 << 14};
  auto size = [&](std::string_view key, IntRange range) {
    return static_cast<int>(fields.required_integer(key, range));
  };
  auto size_or = [&](std::string_view key, int fallback) {
    return static_cast<int>(fields.integer(key, count).value_or(fallback));
  };
  config.layers = size("num_hidden_layers", count);
  config.hidden = size("hidden_size", width);
  config.intermediate = size("intermediate_size", width);
  config.heads = size("num_attention_heads", count);
  // Absent takes the family's default, null means as many as heads.
  const bool is_null = fields.has_null("num_key_value_heads");
  config.kv_heads =
      size_or("num_key_value_heads",
              is_null || family.default_kv_heads == 0 ? config.heads : family.default_kv_heads);
  if (config.heads % config.kv_heads != 0)
    fields.refuse("num_key_value_heads",
                  "a divisor of num_attention_heads = " + std::to_string(config.heads));
  config.head_dim = size_or("head_dim", family.default_head_dim > 0 ? family.default_head_dim
                                                                    : config.hidden / config.heads);
  if (config.head_dim < 2 || config.head_dim % 2 != 0)
    throw Error(
        {"bad head size", fields.where(), "an even head_dim", std::to_string(config.head_dim)});
  config.vocab = fields.required_integer("vocab_size", {1});
  config.max_position =
      fields.integer("max_position_embeddings", {1}).value_or(family.default_max_position);
  const double eps = fields.number("rms_norm_eps").value_or(1e-6);
  if (eps < 0.0) fields.refuse("rms_norm_eps", "a number of at least 0");
  config.rms_eps = static_cast<float>(eps);
}

// The window of Mistral and of Qwen's upper layers; `layer_types` decides where it is given.
void parse_windows(const FileFields& fields, const Family& family, ModelConfig& config) {
  if (family.window == Family::Window::kNone) return;
  const bool is_upper = family.window == Family::Window::kUpperLayers;
  if (is_upper && !fields.boolean("use_sliding_window").value_or(false)) return;
  if (fields.has_null("sliding_window")) return;
  const auto window = static_cast<int>(fields.integer("sliding_window", {1}).value_or(4096));
  const auto first = is_upper ? fields.integer("max_window_layers").value_or(28) : 0;
  const auto types = fields.strings("layer_types");
  if (types && types->size() != static_cast<std::size_t>(config.layers))
    fields.refuse("layer_types", std::to_string(config.layers) + " entries");
  for (int layer = 0; layer < config.layers; ++layer) {
    const bool slides =
        types ? (*types)[static_cast<std::size_t>(layer)] == "sliding_attention" : layer >= first;
    config.layer_window.push_back(slides ? window : 0);
  }
}

void check_layer_types(const FileFields& fields) {
  const auto types = fields.strings("layer_types");
  if (!types) return;
  for (const std::string& type : *types)
    if (type != "full_attention" && type != "sliding_attention")
      fields.refuse("layer_types", "full_attention or sliding_attention");
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

}  // namespace

ModelConfig ModelConfig::parse(const std::string& json, const std::string& where,
                               const std::string& overrides) {
  boost::json::object object = read_json_object(json, where);
  if (!overrides.empty()) {
    for (auto& [key, value] : read_json_object(overrides, "model config overrides"))
      object[key] = std::move(value);
  }
  const FileFields fields(object, where);
  const Family& family = find_family(fields);
  refuse_foreign_features(fields);
  check_layer_types(fields);

  ModelConfig config;
  config.architecture = family.architecture;
  config.model_type = fields.string("model_type").value_or("");
  parse_sizes(fields, family, config);
  parse_rope(fields, config);
  parse_windows(fields, family, config);
  const bool attention_bias =
      family.has_bias_flags && fields.boolean("attention_bias").value_or(false);
  config.qkv_bias = family.always_qkv_bias || attention_bias;
  config.o_bias = attention_bias;
  config.mlp_bias = family.has_bias_flags && fields.boolean("mlp_bias").value_or(false);
  config.qk_norm = family.has_qk_norm;
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(false);
  config.mtp_layers =
      static_cast<int>(fields.integer("num_nextn_predict_layers", {0, 1 << 14}).value_or(0));
  config.stored_dtype = parse_dtype(fields);
  for (const char* key : {"quantization_config", "compression_config"})
    if (const auto* stored = fields.object(key); stored != nullptr && !stored->empty())
      config.stored_quantization = StoredQuantization::parse(*stored, where);
  const IntRange tokens{0, std::numeric_limits<Token>::max()};
  config.eos = eos_tokens(fields);
  if (const auto bos = fields.integers("bos_token_id", tokens); !bos.empty())
    config.bos = static_cast<Token>(bos.front());
  config.context_length = default_context_length(config);
  return config;
}

}  // namespace foretoken
