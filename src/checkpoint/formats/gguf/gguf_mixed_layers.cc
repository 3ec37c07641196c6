#include "checkpoint/formats/gguf/gguf_mixed_layers.h"

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

// One value for each layer, of a list or of one for all.
std::vector<std::int64_t> by_layer(const GgufModel& model, const std::string& key,
                                   std::int64_t layers) {
  const std::string whole = model.own_key(key);
  auto values = model.metadata().integers(whole);
  if (values.empty()) model.metadata().refuse_missing(whole);
  if (values.size() == 1) values.assign(at(layers), values.front());
  if (values.size() != at(layers))
    model.metadata().refuse(whole, std::to_string(layers) + " values",
                            std::to_string(values.size()));
  return values;
}

std::vector<bool> sliding_layers(const GgufModel& model, std::int64_t layers) {
  const std::string key = model.own_key("attention.sliding_window_pattern");
  const auto slides = model.metadata().booleans(key);
  if (slides.size() != at(layers))
    model.metadata().refuse(key, std::to_string(layers) + " booleans",
                            std::to_string(slides.size()));
  return slides;
}

// Pairs that do not rotate have factors beyond all others.
double rotating_share(const GgufModel& model) {
  constexpr float kStill = 1e29F;
  const GgufBlocks* const factors = model.find("rope_freqs.weight");
  if (factors == nullptr) return 1.0;
  if (!factors->type->is_float() || factors->shape.elements() > 1 << 16)
    throw Error({"wrong rotary factors in the GGUF file",
                 model.path() + ", tensor rope_freqs.weight", "floats, one for each pair of a head",
                 factors->shape.str()});
  std::vector<float> values(at(factors->shape.elements()));
  factors->type->dequantize(factors->data, factors->shape.elements(), values.data());
  std::size_t turning = 0;
  for (const float value : values) {
    if (value < kStill && value != 1.0F)
      throw Error({"the GGUF file scales positions of some pairs",
                   model.path() + ", tensor rope_freqs.weight", "factors of 1 or of 1e30",
                   std::to_string(value)});
    turning += value < kStill ? 1 : 0;
  }
  return static_cast<double>(turning) / static_cast<double>(values.size());
}

}  // namespace

void add_gguf_mixed_layers(const GgufModel& model, boost::json::object& config) {
  const std::int64_t layers = config["num_hidden_layers"].as_int64();
  const auto slides = sliding_layers(model, layers);
  const auto kv_heads = by_layer(model, "attention.head_count_kv", layers);
  const auto widths = by_layer(model, "feed_forward_length", layers);
  const std::int64_t wide = config["head_dim"].as_int64();
  const std::int64_t narrow = model.size("attention.key_length_swa").value_or(wide);
  const std::int64_t shared = model.size("attention.shared_kv_layers").value_or(0);
  boost::json::array types;
  boost::json::object listed;
  bool are_keys = false;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool is_local = slides[at(layer)];
    types.emplace_back(is_local ? "sliding_attention" : "full_attention");
    if (is_local) {
      config["num_key_value_heads"] = kv_heads[at(layer)];
      continue;
    }
    listed[std::to_string(layer)] = {{"head_dim", wide},
                                     {"num_key_value_heads", kv_heads[at(layer)]}};
    const std::string values = "blk." + std::to_string(layer) + ".attn_v.weight";
    are_keys |= layer < layers - shared && model.find(values) == nullptr;
  }
  config["layer_types"] = std::move(types);
  config["head_dim"] = narrow;
  config["per_layer_config"] = std::move(listed);
  config["attention_k_eq_v"] = are_keys;
  config["num_kv_shared_layers"] = shared;
  config["intermediate_size"] = widths.front();
  config["use_double_wide_mlp"] = widths.back() != widths.front();
  if (const auto window = model.size("attention.sliding_window"))
    config["sliding_window"] = *window;
  config["hidden_size_per_layer_input"] =
      model.size("embedding_length_per_layer_input").value_or(0);
  const boost::json::value vocab = config["vocab_size"];  // a new key may move what is there
  config["vocab_size_per_layer_input"] = vocab;
  const double theta =
      model.metadata().number(model.own_key("rope.freq_base_swa")).value_or(10000.0);
  config["rope_parameters"] = {
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", theta}}},
      {"full_attention",
       {{"rope_type", "proportional"},
        {"rope_theta", config["rope_theta"]},
        {"partial_rotary_factor", rotating_share(model)}}}};
  config.erase("rope_scaling");
  config.erase("rope_theta");
  config["enable_moe_block"] = model.size("expert_count").value_or(0) > 0;
}

}  // namespace foretoken
