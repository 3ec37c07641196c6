#include "checkpoint/formats/gguf/gguf_states.h"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "base/index.h"

namespace foretoken {
namespace {

// The keys of the model's architecture.
class StateKeys {
 public:
  explicit StateKeys(const GgufModel& model)
      : metadata_(model.metadata()), prefix_(model.own_key("")) {}

  std::string of(const std::string& name) const { return prefix_ + name; }
  std::int64_t size(const std::string& name) const {
    const auto found = metadata_.integer(of(name));
    if (!found) metadata_.refuse_missing(of(name));
    if (*found < 1) refuse(name, "at least 1", *found);
    return *found;
  }
  // Which size goes into another without a rest.
  std::int64_t parts(const std::string& name, std::int64_t of_part) const {
    const std::int64_t whole = size(name);
    if (of_part < 1 || whole % of_part != 0)
      refuse(name, "a multiple of " + std::to_string(of_part), whole);
    return whole / of_part;
  }
  std::int64_t size_or(const std::string& name, std::int64_t absent) const {
    return metadata_.integer(of(name)).value_or(absent);
  }
  [[noreturn]] void refuse(const std::string& name, std::string expected,
                           std::int64_t found) const {
    metadata_.refuse(of(name), std::move(expected), std::to_string(found));
  }
  const GgufMetadata& metadata() const { return metadata_; }

 private:
  const GgufMetadata& metadata_;
  std::string prefix_;
};

boost::json::array types_of(const std::vector<bool>& keeps, const char* state) {
  boost::json::array types;
  for (const bool keeps_state : keeps) types.emplace_back(keeps_state ? state : "full_attention");
  return types;
}

std::size_t layers_of(const boost::json::object& config) {
  return at(config.at("num_hidden_layers").as_int64());
}

// A layer without KV heads keeps a state.
std::vector<bool> layers_without_heads(const StateKeys& keys, const boost::json::object& config) {
  const std::string key = "attention.head_count_kv";
  const auto heads = keys.metadata().integers(keys.of(key));
  if (heads.size() != layers_of(config))
    keys.refuse(key, std::to_string(layers_of(config)) + " numbers, one for each layer",
                std::ssize(heads));
  std::vector<bool> keeps;
  for (const std::int64_t count : heads) keeps.push_back(count == 0);
  return keeps;
}

void add_delta_layers(const StateKeys& keys, boost::json::object& config) {
  const std::int64_t all = keys.size("block_count");  // those of draft heads, too
  config["full_attention_interval"] = keys.size_or("full_attention_interval", 4);
  const std::string key = "attention.recurrent_layers";
  if (!keys.metadata().has(keys.of(key))) return;
  std::vector<bool> keeps = keys.metadata().booleans(keys.of(key));
  if (keeps.size() != at(all))
    keys.refuse(key, std::to_string(all) + " booleans, one for each layer", std::ssize(keeps));
  keeps.resize(layers_of(config));
  config["layer_types"] = types_of(keeps, "linear_attention");
}

void add_delta(const GgufModel& model, boost::json::object& config) {
  const StateKeys keys(model);
  add_delta_layers(keys, config);
  const std::int64_t heads = keys.size("ssm.time_step_rank");
  config["linear_conv_kernel_dim"] = keys.size("ssm.conv_kernel");
  config["linear_key_head_dim"] = keys.size("ssm.state_size");
  config["linear_num_key_heads"] = keys.size("ssm.group_count");
  config["linear_num_value_heads"] = heads;
  config["linear_value_head_dim"] = keys.parts("ssm.inner_size", heads);
  const std::int64_t width = config.at("head_dim").as_int64();
  config["partial_rotary_factor"] =
      static_cast<double>(keys.size_or("rope.dimension_count", width)) / static_cast<double>(width);
}

}  // namespace

void add_gguf_qwen3_next(const GgufModel& model, boost::json::object& config) {
  add_delta(model, config);
  // Older files have what the checkpoint has.
  config["linear_inputs_in_turn"] = model.find_in_layers("ssm_in.weight") == nullptr;
}

void add_gguf_qwen3_5(const GgufModel& model, boost::json::object& config) {
  add_delta(model, config);
  config["linear_heads_in_turn"] = true;
}

void add_gguf_lfm2(const GgufModel& model, boost::json::object& config) {
  const StateKeys keys(model);
  config["layer_types"] = types_of(layers_without_heads(keys, config), "conv");
  config["conv_L_cache"] = keys.size("shortconv.l_cache");
  config["conv_bias"] = model.find_in_layers("shortconv.conv.bias") != nullptr;
  const boost::json::value eps = config.at("rms_norm_eps");  // a new key may move what is there
  config["norm_eps"] = eps;
  config["block_auto_adjust_ff_dim"] = false;
}

void add_gguf_lfm2_moe(const GgufModel& model, boost::json::object& config) {
  constexpr std::int64_t kSigmoid = 2;
  const StateKeys keys(model);
  add_gguf_lfm2(model, config);
  config["num_dense_layers"] = keys.size_or("leading_dense_block_count", 0);
  config["use_expert_bias"] = model.find_in_layers("exp_probs_b.bias") != nullptr;
  if (const auto score = keys.size_or("expert_gating_func", kSigmoid); score != kSigmoid)
    keys.refuse("expert_gating_func", "2, sigmoid", score);
}

void add_gguf_granite_hybrid(const GgufModel& model, boost::json::object& config) {
  const StateKeys keys(model);
  config["layer_types"] = types_of(layers_without_heads(keys, config), "mamba");
  config["mamba_n_heads"] = keys.size("ssm.time_step_rank");
  config["mamba_d_conv"] = keys.size("ssm.conv_kernel");
  config["mamba_d_state"] = keys.size("ssm.state_size");
  config["mamba_n_groups"] = keys.size("ssm.group_count");
  config["mamba_expand"] = keys.parts("ssm.inner_size", config.at("hidden_size").as_int64());
  config["mamba_conv_bias"] = model.find_in_layers("ssm_conv1d.bias") != nullptr;
  config["mamba_proj_bias"] = model.find_in_layers("ssm_in.bias") != nullptr;
  const bool rotates = model.metadata().boolean(keys.of("rope.scaling.finetuned")).value_or(false);
  config["position_embedding_type"] = rotates ? "rope" : "nope";
  config["num_local_experts"] = keys.size_or("expert_count", 0);
  config["num_experts_per_tok"] = keys.size_or("expert_used_count", 0);
  config["is_shared_mlp_fused"] = false;
  const GgufBlocks* up = model.find_in_layers("ffn_up_shexp.weight");
  if (up == nullptr) up = model.find_in_layers("ffn_up.weight");
  config["shared_intermediate_size"] =
      up != nullptr ? up->rows() : config.at("intermediate_size").as_int64();
}

}  // namespace foretoken
