#include "checkpoint/formats/gguf/gguf_config.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_architecture.h"
#include "checkpoint/formats/gguf/gguf_tokenizer.h"

namespace foretoken {
namespace {

namespace json = boost::json;

// The keys of one architecture: "<architecture>.<key>".
class Keys {
 public:
  explicit Keys(const GgufModel& model) : metadata_(model.metadata()), prefix_(model.own_key("")) {}

  std::optional<std::int64_t> integer(std::string_view key) const {
    return metadata_.integer(prefix_ + std::string(key));
  }
  // Of a value of each layer the greatest.
  std::optional<std::int64_t> greatest(std::string_view key) const {
    return metadata_.greatest(prefix_ + std::string(key));
  }
  std::int64_t required(std::string_view key) const {
    const auto found = integer(key);
    if (!found) metadata_.refuse_missing(prefix_ + std::string(key));
    return *found;
  }
  // The first of a list where there may be one, or the one value.
  std::optional<std::int64_t> first(std::string_view key, bool may_be_list) const {
    if (!may_be_list) return integer(key);
    const auto values = metadata_.integers(prefix_ + std::string(key));
    return values.empty() ? std::nullopt : std::optional(values.front());
  }
  std::optional<double> number(std::string_view key) const {
    return metadata_.number(prefix_ + std::string(key));
  }
  double required_number(std::string_view key) const {
    const auto found = number(key);
    if (!found) metadata_.refuse_missing(prefix_ + std::string(key));
    return *found;
  }
  std::optional<std::string> text(std::string_view key) const {
    return metadata_.text(prefix_ + std::string(key));
  }
  [[noreturn]] void refuse(std::string_view key, std::string expected, std::string found) const {
    metadata_.refuse(prefix_ + std::string(key), std::move(expected), std::move(found));
  }

 private:
  const GgufMetadata& metadata_;
  std::string prefix_;
};

// Layers of draft heads are counted, too, and lie behind the others.
void add_layers(const GgufArchitecture& architecture, const Keys& keys, json::object& config) {
  const std::int64_t all = keys.required("block_count");
  const std::int64_t heads =
      architecture.is_head ? 0 : keys.integer("nextn_predict_layers").value_or(0);
  if (heads < 0 || (heads > 0 && heads >= all))
    keys.refuse("nextn_predict_layers", "fewer than block_count = " + std::to_string(all),
                std::to_string(heads));
  config["num_hidden_layers"] = all - heads;
  if (heads > 0) config["num_nextn_predict_layers"] = heads;
}

void add_sizes(const GgufArchitecture& architecture, const Keys& keys, json::object& config) {
  const std::int64_t hidden = keys.required("embedding_length");
  const std::int64_t heads = keys.required("attention.head_count");
  if (heads < 1) keys.refuse("attention.head_count", "at least 1", std::to_string(heads));
  const std::int64_t width = keys.integer("attention.key_length").value_or(hidden / heads);
  const std::int64_t value_width = keys.integer("attention.value_length").value_or(width);
  // Of latent attention values are shorter keys.
  if (value_width != width && !keys.integer("attention.kv_lora_rank"))
    keys.refuse("attention.value_length", std::to_string(width) + " as of keys",
                std::to_string(value_width));
  config["hidden_size"] = hidden;
  const bool may_be_list = architecture.layers_differ;
  // Where all layers have experts, it may be said of these alone.
  const auto of_experts = keys.integer("expert_feed_forward_length");
  const auto width_of_mlp = keys.first("feed_forward_length", may_be_list);
  config["intermediate_size"] = width_of_mlp ? *width_of_mlp
                                : of_experts ? *of_experts
                                             : keys.required("feed_forward_length");
  add_layers(architecture, keys, config);
  config["num_attention_heads"] = heads;
  const auto kv_heads = may_be_list ? keys.first("attention.head_count_kv", true)
                                    : keys.greatest("attention.head_count_kv");
  config["num_key_value_heads"] = kv_heads.value_or(heads);
  config["head_dim"] = width;
  config["max_position_embeddings"] = keys.required("context_length");
  if (architecture.centres)
    config["layer_norm_eps"] = keys.required_number("attention.layer_norm_epsilon");
  else
    config["rms_norm_eps"] = keys.required_number("attention.layer_norm_rms_epsilon");
}

// Factors of the wavelengths, one for each pair; empty without the tensor.
json::array factors_of(const GgufModel& model, const std::string& tensor) {
  constexpr std::int64_t kMost = 1 << 16;  // no head is so wide
  const GgufBlocks* const blocks = model.find(tensor);
  json::array factors;
  if (blocks == nullptr) return factors;
  if (!blocks->type->is_float() || blocks->shape.elements() > kMost)
    throw Error({"wrong rotary factors in the GGUF file", model.path() + ", tensor " + tensor,
                 "floats, one for each pair of a head",
                 std::string(blocks->type->name) + " " + blocks->shape.str()});
  std::vector<float> values(static_cast<std::size_t>(blocks->shape.elements()));
  blocks->type->dequantize(blocks->data, blocks->shape.elements(), values.data());
  for (const float value : values) factors.push_back(json::value(static_cast<double>(value)));
  return factors;
}

// Of factors as a tensor: short and long ones, or one set for every length.
bool add_factors(const GgufModel& model, const Keys& keys, json::object& config) {
  json::array every = factors_of(model, "rope_freqs.weight");
  json::array few = factors_of(model, "rope_factors_short.weight");
  json::array many = factors_of(model, "rope_factors_long.weight");
  json::object scaling{{"rope_type", "longrope"}};
  if (!few.empty() && !many.empty()) {
    scaling["short_factor"] = std::move(few);
    scaling["long_factor"] = std::move(many);
    scaling["original_max_position_embeddings"] =
        keys.required("rope.scaling.original_context_length");
    if (const auto factor = keys.number("rope.scaling.attn_factor"))
      scaling["attention_factor"] = *factor;
  } else if (!every.empty()) {
    scaling["short_factor"] = every;
    scaling["long_factor"] = std::move(every);
    scaling["original_max_position_embeddings"] = config["max_position_embeddings"];
    scaling["attention_factor"] = 1.0;
  } else {
    return false;
  }
  config["rope_scaling"] = std::move(scaling);
  return true;
}

void add_rope(const GgufModel& model, const Keys& keys, json::object& config) {
  config["rope_theta"] = keys.number("rope.freq_base").value_or(10000.0);
  if (add_factors(model, keys, config)) return;
  const auto newer = keys.number("rope.scaling.factor");
  const double factor = newer ? *newer : keys.number("rope.scale_linear").value_or(1.0);
  // Without a type, a factor other than 1 (0 is none) is linear.
  const bool is_scaled = factor != 0.0 && factor != 1.0;
  const std::string type = keys.text("rope.scaling.type").value_or(is_scaled ? "linear" : "none");
  if (type == "none") return;
  if (type != "linear" && type != "yarn")
    keys.refuse("rope.scaling.type", "none, linear, yarn, or factors as a tensor", type);
  json::object scaling{{"rope_type", type}};
  scaling["factor"] = is_scaled ? factor : 1.0;
  if (type == "yarn") {
    if (const auto original = keys.integer("rope.scaling.original_context_length"))
      scaling["original_max_position_embeddings"] = *original;
    for (const auto& [stored, name] :
         {std::pair{"yarn_attn_factor", "attention_factor"},
          std::pair{"yarn_beta_fast", "beta_fast"}, std::pair{"yarn_beta_slow", "beta_slow"}})
      if (const auto value = keys.number(std::string("rope.scaling.") + stored))
        scaling[name] = *value;
  }
  config["rope_scaling"] = std::move(scaling);
}

// Keys that change what is computed, and by which nothing here computes. Where parts of heads
// rotate, the row of the architecture has read how many.
void check_computation(const GgufArchitecture& architecture, const GgufModel& model,
                       const Keys& keys, const json::object& config) {
  const std::string causal = model.own_key("attention.causal");
  if (!model.metadata().boolean(causal).value_or(true))
    model.metadata().refuse(causal, "true", "false: every token sees those behind it, too");
  const json::value* const width = config.if_contains("head_dim");
  if (architecture.layers_differ || width == nullptr || config.contains("partial_rotary_factor"))
    return;
  const auto rotated = keys.integer("rope.dimension_count");
  if (rotated && *rotated != width->as_int64())
    keys.refuse("rope.dimension_count", std::to_string(width->as_int64()) + ", whole heads",
                std::to_string(*rotated));
}

}  // namespace

std::string gguf_config_json(const GgufModel& model) {
  const GgufArchitecture& architecture = gguf_architecture(model.metadata());
  const Keys keys(model);
  json::object config{{"architectures", json::array{architecture.architecture}},
                      {"model_type", architecture.model_type},
                      {"torch_dtype", "bfloat16"}};
  add_sizes(architecture, keys, config);
  add_rope(model, keys, config);
  config["tie_word_embeddings"] = model.find("output.weight") == nullptr;
  config["attention_bias"] = model.find_in_layers("attn_q.bias") != nullptr;
  config["mlp_bias"] = model.find("blk.0.ffn_gate.bias") != nullptr;
  config["vocab_size"] = model.metadata().count("tokenizer.ggml.tokens");
  if (const GgufBlocks* const embedding = model.find("token_embd.weight"))
    config["vocab_size"] = embedding->rows();
  if (const auto bos = model.metadata().integer("tokenizer.ggml.bos_token_id"))
    config["bos_token_id"] = *bos;
  if (const auto eos = model.metadata().integer("tokenizer.ggml.eos_token_id"))
    config["eos_token_id"] = *eos;
  for (const auto& [stored, name] : architecture.numbers)
    if (const auto value = keys.number(stored)) config[name] = *value;
  if (architecture.add != nullptr) architecture.add(model, config);
  check_computation(architecture, model, keys, config);
  return json::serialize(config);
}

std::string gguf_generation_json(const GgufModel& model) {
  const GgufMetadata& metadata = model.metadata();
  json::array eos;
  for (const std::int64_t token : gguf_end_tokens(metadata)) eos.push_back(token);
  json::object config{{"eos_token_id", std::move(eos)}};
  for (const auto& [stored, name] :
       {std::pair{"temp", "temperature"}, std::pair{"top_p", "top_p"}, std::pair{"min_p", "min_p"},
        std::pair{"penalty_repeat", "repetition_penalty"}})
    if (const auto value = metadata.number(std::string("general.sampling.") + stored))
      config[name] = *value;
  if (const auto top_k = metadata.integer("general.sampling.top_k")) config["top_k"] = *top_k;
  return json::serialize(config);
}

}  // namespace foretoken
