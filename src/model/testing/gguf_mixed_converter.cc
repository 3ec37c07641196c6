#include "model/testing/gguf_mixed_converter.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "backend/float_view.h"
#include "base/index.h"
#include "base/json_text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/gguf_bytes.h"
#include "model/decoder/load.h"
#include "model/decoder/text_weights.h"
#include "model/heads/query_head.h"

namespace foretoken {
namespace {

const std::map<std::string, std::string> kMixedModelNames = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
    {"model.per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
    {"pre_projection.weight", "nextn.pre_projection.weight"},
    {"post_projection.weight", "nextn.post_projection.weight"},
};

const std::map<std::string, std::string> kMixedLayerNames = {
    {"input_layernorm.weight", "attn_norm.weight"},
    {"post_attention_layernorm.weight", "post_attention_norm.weight"},
    {"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {"post_feedforward_layernorm.weight", "post_ffw_norm.weight"},
    {"post_feedforward_layernorm_1.weight", "post_ffw_norm_1.weight"},
    {"post_feedforward_layernorm_2.weight", "post_ffw_norm_2.weight"},
    {"pre_feedforward_layernorm_2.weight", "pre_ffw_norm_2.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"self_attn.q_proj.bias", "attn_q.bias"},
    {"self_attn.k_proj.bias", "attn_k.bias"},
    {"self_attn.v_proj.bias", "attn_v.bias"},
    {"self_attn.o_proj.bias", "attn_output.bias"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
    {"layer_scalar", "layer_output_scale.weight"},
    {"per_layer_input_gate.weight", "inp_gate.weight"},
    {"per_layer_projection.weight", "proj.weight"},
    {"post_per_layer_input_norm.weight", "post_norm.weight"},
    {"router.proj.weight", "ffn_gate_inp.weight"},
    {"router.scale", "ffn_gate_inp.scale"},
    {"router.per_expert_scale", "ffn_down_exps.scale"},
    {"experts.gate_up_proj", "ffn_gate_up_exps.weight"},
    {"experts.down_proj", "ffn_down_exps.weight"},
};

std::string mixed_name(const std::string& name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!name.starts_with(kLayers)) return kMixedModelNames.at(name);
  const std::size_t dot = name.find('.', kLayers.size());
  return "blk." + name.substr(kLayers.size(), dot - kLayers.size()) + "." +
         kMixedLayerNames.at(name.substr(dot + 1));
}

// Of a draft model that reads the target's keys and values those of its layers, which share all.
ModelConfig read_config(const std::string& folder, bool is_head) {
  if (!is_head) return read_model_config(folder, {});
  boost::json::object layers =
      read_json_file(folder + "/config.json")->at("text_config").as_object();
  layers["num_kv_shared_layers"] = 0;
  layers["architectures"] = boost::json::array{"Gemma4ForCausalLM"};
  return ModelConfig::parse(boost::json::serialize(layers), folder);
}

}  // namespace

std::string mixed_gguf_of(const std::string& folder, bool is_odd) {
  const bool is_head = is_query_head(folder);
  const ModelConfig config = read_config(folder, is_head);
  const std::string architecture = is_head ? "gemma4-assistant" : "gemma4";
  const auto key = [&](const std::string& of) { return architecture + "." + of; };
  const auto count = [](int value) { return static_cast<std::uint32_t>(value); };
  GgufBytes file;
  file.text("general.architecture", architecture);
  file.u32(key("block_count"), count(config.layers));
  file.u32(key("context_length"), count(static_cast<int>(config.max_position)));
  file.u32(key("embedding_length"), count(config.hidden));
  file.u32(key("attention.head_count"), count(config.heads));
  file.f32(key("attention.layer_norm_rms_epsilon"), config.rms_eps);
  file.u32(key("attention.key_length"), count(config.widest_head()));
  file.u32(key("attention.value_length"), count(config.widest_head()));
  file.u32(key("attention.key_length_swa"), count(config.head_dim));
  file.u32(key("attention.value_length_swa"), count(config.head_dim));
  const int shared = is_head ? config.layers : config.layers - config.kv_layers();
  file.u32(key("attention.shared_kv_layers"), count(shared));
  file.u32(key("embedding_length_per_layer_input"), count(config.inputs.width));
  file.f32(key("rope.freq_base"), static_cast<float>(config.rope_theta));
  file.f32(key("rope.freq_base_swa"), static_cast<float>(config.local_rope_theta));
  if (is_head) {
    const auto whole = read_json_file(folder + "/config.json");
    file.u32(key("embedding_length_out"),
             whole->at("backbone_hidden_size").to_number<std::uint32_t>());
    file.u32(key("nextn_predict_layers"), count(config.layers));
  }
  if (config.logit_cap > 0) file.f32(key("final_logit_softcapping"), config.logit_cap);
  const Routing& routing = config.experts.routing;
  if (routing.experts > 0) {
    file.u32(key("expert_count"), count(routing.experts));
    file.u32(key("expert_used_count"), count(routing.chosen));
    file.u32(key("expert_feed_forward_length"), count(config.experts.intermediate));
  }
  std::vector<std::int32_t> kv_heads, widths;
  std::string slides;
  int window = 0;
  for (int layer = 0; layer < config.layers; ++layer) {
    kv_heads.push_back(config.heads_of(layer).count);
    widths.push_back(config.intermediate_of(layer));
    slides += static_cast<char>(config.window(layer) > 0 ? 1 : 0);
    window = std::max(window, config.window(layer));
  }
  if (window > 0) file.u32(key("attention.sliding_window"), count(window));
  file.i32s(key("attention.head_count_kv"), kv_heads);
  file.i32s(key("feed_forward_length"), widths);
  constexpr std::uint32_t kBool = 7, kArray = 9;
  file.raw(key("attention.sliding_window_pattern"), kArray,
           GgufBytes::number(kBool) + GgufBytes::number(std::uint64_t{slides.size()}) + slides);
  const int pairs = config.widest_head() / 2;
  std::vector<float> factors(at(pairs), 1e30F);
  for (int i = 0; i < static_cast<int>(config.rope.share * pairs); ++i) factors[at(i)] = 1.0F;
  if (is_odd) factors[0] = 2.0F;
  file.floats("rope_freqs.weight", {pairs}, factors);
  auto source = open_checkpoint(folder, "auto", false);
  if (config.has_towers) source = text_weights(std::move(source));
  for (const std::string& tensor_name : source->names()) {
    if (tensor_name.starts_with("masked_embedding.")) continue;
    const Tensor tensor = source->find(tensor_name, {}).value();
    std::vector<float> values(at(tensor.elements()));
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      values[at(i)] = load_float(tensor.data(), tensor.dtype(), i);
    std::vector<std::int64_t> shape;
    for (int i = 0; i < tensor.shape().rank(); ++i) shape.push_back(tensor.dim(i));
    file.floats(mixed_name(tensor_name), shape, values);
  }
  return file.bytes();
}

}  // namespace foretoken
