// GGUF files of models whose layers differ, written here as llama.cpp's converter writes them from
// tests/golden/checkpoints: each answers as its safetensors do.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/float_view.h"
#include "base/index.h"
#include "checkpoint/testing/gguf_bytes.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/load.h"
#include "model/decoder/text_weights.h"
#include "model/runner.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

const std::map<std::string, std::string> kModelNames = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
    {"model.per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
};

const std::map<std::string, std::string> kLayerNames = {
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

std::string stored_name(const std::string& name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!name.starts_with(kLayers)) return kModelNames.at(name);
  const std::size_t dot = name.find('.', kLayers.size());
  return "blk." + name.substr(kLayers.size(), dot - kLayers.size()) + "." +
         kLayerNames.at(name.substr(dot + 1));
}

std::string folder_of(const std::string& name) {
  return std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + name;
}

// The factors of wide heads as the converter makes them; is_odd: one is another.
std::string converted(const std::string& name, bool is_odd = false) {
  const ModelConfig config = read_model_config(folder_of(name), {});
  const auto key = [](const std::string& of) { return "gemma4." + of; };
  const auto count = [](int value) { return static_cast<std::uint32_t>(value); };
  GgufBytes file;
  file.text("general.architecture", "gemma4");
  file.u32(key("block_count"), count(config.layers));
  file.u32(key("context_length"), count(static_cast<int>(config.max_position)));
  file.u32(key("embedding_length"), count(config.hidden));
  file.u32(key("attention.head_count"), count(config.heads));
  file.f32(key("attention.layer_norm_rms_epsilon"), config.rms_eps);
  file.u32(key("attention.key_length"), count(config.widest_head()));
  file.u32(key("attention.value_length"), count(config.widest_head()));
  file.u32(key("attention.key_length_swa"), count(config.head_dim));
  file.u32(key("attention.value_length_swa"), count(config.head_dim));
  file.u32(key("attention.shared_kv_layers"), count(config.layers - config.kv_layers()));
  file.u32(key("embedding_length_per_layer_input"), count(config.inputs.width));
  file.f32(key("rope.freq_base"), static_cast<float>(config.rope_theta));
  file.f32(key("rope.freq_base_swa"), static_cast<float>(config.local_rope_theta));
  if (config.logit_cap > 0) file.f32(key("final_logit_softcapping"), config.logit_cap);
  const Routing& routing = config.experts.routing;
  if (routing.experts > 0) {
    file.u32(key("expert_count"), count(routing.experts));
    file.u32(key("expert_used_count"), count(routing.chosen));
    file.u32(key("expert_feed_forward_length"), count(config.experts.intermediate));
  }
  std::vector<std::int32_t> kv_heads, widths;
  std::string slides;
  for (int layer = 0; layer < config.layers; ++layer) {
    kv_heads.push_back(config.heads_of(layer).count);
    widths.push_back(config.intermediate_of(layer));
    slides += static_cast<char>(config.window(layer) > 0 ? 1 : 0);
    if (config.window(layer) > 0 && layer < 2)
      file.u32(key("attention.sliding_window"), count(config.window(layer)));
  }
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
  auto source = open_checkpoint(folder_of(name), "auto", false);
  if (config.has_towers) source = text_weights(std::move(source));
  for (const std::string& tensor_name : source->names()) {
    const Tensor tensor = source->find(tensor_name, {}).value();
    std::vector<float> values(at(tensor.elements()));
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      values[at(i)] = load_float(tensor.data(), tensor.dtype(), i);
    std::vector<std::int64_t> shape;
    for (int i = 0; i < tensor.shape().rank(); ++i) shape.push_back(tensor.dim(i));
    file.floats(stored_name(tensor_name), shape, values);
  }
  return file.bytes();
}

class LoadMixedGguf : public testing::TestWithParam<const char*> {
 protected:
  std::vector<float> logits_of(const std::string& path) {
    const auto decoder = load_model(*ops_, path, {.dtype = "float32", .show_progress = false});
    Runner runner(*ops_, *decoder, 1);
    SeqTable table(1);
    table.pages[0] = {0};
    DraftTrees trees(1, 1);
    const std::vector<Token> tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
    trees.plant(0, tokens.back());
    StepPlan plan;
    plan.entries.push_back(
        {.slot = 0, .chain = std::span(tokens).first(tokens.size() - 1), .has_tree = true});
    Batch batch;
    ops_->layout(plan, trees, table, batch);
    const Tensor logits = runner.logits(runner.forward(batch, FeatureTaps{}), batch);
    return {logits.f32(), logits.f32() + logits.elements()};
  }

  TempFolder folder_;
  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, pool_);
};

TEST_P(LoadMixedGguf, answers_as_the_checkpoint_that_it_was_made_of) {
  folder_.write("model.gguf", converted(GetParam()));
  const auto known = logits_of(folder_of(GetParam()));
  const auto found = logits_of(folder_.path() + "/model.gguf");
  ASSERT_EQ(found.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) ASSERT_NEAR(found[i], known[i], 1e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, LoadMixedGguf,
                         testing::Values("gemma4", "gemma4_unified", "gemma4_experts"),
                         [](const auto& info) { return std::string(info.param); });

TEST(MixedGguf, factors_that_scale_positions_are_refused) {
  TempFolder folder;
  folder.write("model.gguf", converted("gemma4", true));
  EXPECT_THAT(error_of([&] { read_model_config(folder.path() + "/model.gguf", {}); }),
              HasSubstr("factors of 1 or of 1e30"));
}

}  // namespace
}  // namespace foretoken
