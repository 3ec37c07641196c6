#include "checkpoint/formats/gguf/gguf_config.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_text.h"
#include "base/testing/test_folder.h"
#include "checkpoint/formats/gguf/gguf_architecture.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using boost::json::object;
using testing::HasSubstr;

class GgufConfig : public testing::Test {
 protected:
  object config_of(const GgufBytes& file) const {
    folder_.write("m.gguf", file.bytes());
    return read_json_object(gguf_config_json(GgufModel(folder_.path() + "/m.gguf")), "config");
  }
  object generation_of(const GgufBytes& file) const {
    folder_.write("m.gguf", file.bytes());
    return read_json_object(gguf_generation_json(GgufModel(folder_.path() + "/m.gguf")), "config");
  }

  TestFolder folder_;
};

TEST_F(GgufConfig, sizes_and_tokens_are_those_of_the_keys) {
  GgufBytes file = gguf_keys("qwen3");
  file.u32("qwen3.attention.key_length", 32).u32("tokenizer.ggml.bos_token_id", 5);
  const object config = config_of(add_byte_level(file, "qwen2"));
  EXPECT_EQ(config.at("architectures").at(0), "Qwen3ForCausalLM");
  EXPECT_EQ(config.at("hidden_size"), 64);
  EXPECT_EQ(config.at("intermediate_size"), 96);
  EXPECT_EQ(config.at("num_hidden_layers"), 2);
  EXPECT_EQ(config.at("num_attention_heads"), 4);
  EXPECT_EQ(config.at("num_key_value_heads"), 2);
  EXPECT_EQ(config.at("head_dim"), 32);
  EXPECT_EQ(config.at("max_position_embeddings"), 256);
  EXPECT_EQ(config.at("vocab_size"), 288);
  EXPECT_EQ(config.at("rope_theta"), 5000.0);
  EXPECT_EQ(config.at("bos_token_id"), 5);
  EXPECT_EQ(config.at("eos_token_id"), 261);
  EXPECT_EQ(config.at("tie_word_embeddings"), true);
  EXPECT_FALSE(config.contains("rope_scaling"));
}

TEST_F(GgufConfig, keys_that_change_the_computation_are_refused_by_name) {
  const auto fault_of = [&](GgufBytes file) {
    return error_of([&] { config_of(add_byte_level(file, "qwen2")); });
  };
  const auto keys = [](const char* architecture) { return gguf_keys(architecture); };
  EXPECT_EQ(fault_of(keys("llama").u32("llama.rope.dimension_count", 16)), "");
  EXPECT_THAT(fault_of(keys("llama").u32("llama.rope.dimension_count", 8)),
              HasSubstr("key llama.rope.dimension_count): expected 16, whole heads, found 8"));
  EXPECT_EQ(fault_of(keys("glm4").u32("glm4.rope.dimension_count", 8)), "");
  EXPECT_EQ(fault_of(keys("qwen2").boolean("qwen2.attention.causal", true)), "");
  EXPECT_THAT(fault_of(keys("qwen2").boolean("qwen2.attention.causal", false)),
              HasSubstr("key qwen2.attention.causal"));
  EXPECT_EQ(fault_of(keys("llama").text("general.type", "model")), "");
  EXPECT_THAT(fault_of(keys("llama").text("general.type", "adapter")),
              HasSubstr("key general.type): expected model, found adapter: "));
  EXPECT_THAT(fault_of(keys("clip").text("general.type", "mmproj")),
              HasSubstr("found mmproj: what turns images"));
}

TEST_F(GgufConfig, the_key_of_the_tokens_is_named_where_it_is_absent) {
  GgufBytes file = gguf_keys("llama");
  file.text("tokenizer.ggml.model", "gpt2").u32("tokenizer.ggml.eos_token_id", 1);
  EXPECT_THAT(error_of([&] { generation_of(file); }),
              AllOf(HasSubstr("lacks a key"), HasSubstr("tokenizer.ggml.tokens")));
}

TEST_F(GgufConfig, names_of_one_expert_and_of_draft_layers_are_known) {
  const auto name_in = [&](const char* architecture, bool has_experts, const char* stored) {
    GgufBytes file = gguf_keys(architecture);
    if (has_experts) file.u32(std::string(architecture) + ".expert_count", 8);
    folder_.write("m.gguf", file.bytes());
    const GgufModel model(folder_.path() + "/m.gguf");
    return decoder_name(gguf_architecture(model.metadata()), stored).value_or("unknown");
  };
  EXPECT_EQ(name_in("llama", true, "blk.1.ffn_down.7.weight"),
            "model.layers.1.block_sparse_moe.experts.7.w2.weight");
  EXPECT_EQ(name_in("llama", false, "blk.1.ffn_down.7.weight"), "unknown");
  for (const char* stored : {"blk.1.ffn_down.x.weight", "blk.1.ffn_down.-1.weight",
                             "blk.1.attn_q.0.weight", "blk.1.ffn_down..weight"})
    EXPECT_EQ(name_in("llama", true, stored), "unknown") << stored;
  EXPECT_EQ(name_in("qwen35", false, "blk.2.nextn.eh_proj.weight"),
            "model.layers.2.eh_proj.weight");
  EXPECT_EQ(name_in("qwen35", false, "blk.2.nextn.shared_head_norm.weight"),
            "model.layers.2.shared_head.norm.weight");
}

TEST_F(GgufConfig, a_draft_model_of_queries_describes_its_layers_apart) {
  constexpr std::uint32_t kBool = 7, kArray = 9;
  const auto file = [] {
    GgufBytes made = gguf_keys("gemma4-assistant");
    made.u32("gemma4-assistant.nextn_predict_layers", 2);
    made.u32("gemma4-assistant.attention.shared_kv_layers", 2);
    return made.raw(
        "gemma4-assistant.attention.sliding_window_pattern", kArray,
        GgufBytes::number(kBool) + GgufBytes::number(std::uint64_t{2}) + std::string("\1\0", 2));
  };
  const object config = config_of(file().u32("gemma4-assistant.embedding_length_out", 128));
  EXPECT_EQ(config.at("architectures").at(0), "Gemma4AssistantForCausalLM");
  EXPECT_EQ(config.at("backbone_hidden_size"), 128);
  const object& layers = config.at("text_config").as_object();
  EXPECT_EQ(layers.at("model_type"), "gemma4_text");
  EXPECT_EQ(layers.at("num_hidden_layers"), 2);
  EXPECT_FALSE(layers.contains("num_nextn_predict_layers"));
  EXPECT_THAT(error_of([&] { config_of(file()); }),
              HasSubstr("expected gemma4-assistant.embedding_length_out"));
}

// How scores are made where the file does not say, and what its scores may not do.
TEST_F(GgufConfig, a_bias_of_scores_tells_how_they_are_made) {
  const auto file = [] {
    GgufBytes made = gguf_keys("deepseek2");
    made.u32("deepseek2.expert_count", 4).u32("deepseek2.attention.key_length", 40);
    made.u32("deepseek2.rope.dimension_count", 8).u32("deepseek2.attention.kv_lora_rank", 32);
    return made.u32("deepseek2.attention.value_length", 32)
        .u32("deepseek2.nextn_predict_layers", 1);
  };
  EXPECT_EQ(config_of(file()).at("architectures").at(0), "DeepseekV2ForCausalLM");
  const object config = config_of(file().floats("blk.0.exp_probs_b.bias", {4}, {1, 2, 3, 4}));
  EXPECT_EQ(config.at("architectures").at(0), "DeepseekV3ForCausalLM");
  EXPECT_EQ(config.at("num_hidden_layers"), 1);
  EXPECT_EQ(config.at("num_nextn_predict_layers"), 1);
  EXPECT_EQ(config.at("norm_topk_prob"), false) << "weights are normalised where the file says so";
  EXPECT_THAT(
      error_of([&] { config_of(file().f32("deepseek2.attention.temperature_scale", 0.1F)); }),
      HasSubstr("scores of latents do not grow"));
}

TEST_F(GgufConfig, layers_of_draft_heads_are_none_of_the_model) {
  constexpr std::uint32_t kBool = 7, kArray = 9;
  GgufBytes file = gguf_keys("qwen35");
  file.u32("qwen35.nextn_predict_layers", 1).u32("qwen35.attention.key_length", 16);
  file.u32("qwen35.ssm.conv_kernel", 4).u32("qwen35.ssm.state_size", 8);
  file.u32("qwen35.ssm.group_count", 2).u32("qwen35.ssm.time_step_rank", 4);
  file.u32("qwen35.ssm.inner_size", 40).u32("qwen35.rope.dimension_count", 4);
  file.raw("qwen35.attention.recurrent_layers", kArray,
           GgufBytes::number(kBool) + GgufBytes::number(std::uint64_t{2}) + std::string("\1\0", 2));
  const object config = config_of(file);
  EXPECT_EQ(config.at("num_hidden_layers"), 1);
  EXPECT_EQ(config.at("layer_types"), (boost::json::array{"linear_attention"}));
  EXPECT_EQ(config.at("linear_num_value_heads"), 4);
  EXPECT_EQ(config.at("linear_value_head_dim"), 10);
  EXPECT_EQ(config.at("partial_rotary_factor"), 0.25);
}

TEST_F(GgufConfig, a_model_of_no_width_is_refused_and_not_divided_by) {
  GgufBytes file;
  file.text("general.architecture", "granitehybrid").u32("granitehybrid.block_count", 1);
  file.u32("granitehybrid.context_length", 256).u32("granitehybrid.embedding_length", 0);
  file.u32("granitehybrid.feed_forward_length", 96).u32("granitehybrid.attention.head_count", 4);
  file.i32s("granitehybrid.attention.head_count_kv", {0});
  for (const char* size : {"time_step_rank", "conv_kernel", "state_size", "group_count"})
    file.u32("granitehybrid.ssm." + std::string(size), 4);
  file.u32("granitehybrid.ssm.inner_size", 8);
  file.f32("granitehybrid.attention.layer_norm_rms_epsilon", 0.5F);
  EXPECT_THAT(error_of([&] { config_of(file); }),
              HasSubstr("key granitehybrid.ssm.inner_size): expected a multiple of 0"));
}

TEST_F(GgufConfig, layers_without_kv_heads_keep_a_state) {
  GgufBytes file;
  file.text("general.architecture", "lfm2").u32("lfm2.block_count", 3);
  file.u32("lfm2.context_length", 256).u32("lfm2.embedding_length", 64);
  file.u32("lfm2.feed_forward_length", 96).u32("lfm2.attention.head_count", 4);
  file.i32s("lfm2.attention.head_count_kv", {0, 2, 0}).u32("lfm2.shortconv.l_cache", 3);
  file.f32("lfm2.attention.layer_norm_rms_epsilon", 0.5F);
  const object config = config_of(file);
  EXPECT_EQ(config.at("layer_types"), (boost::json::array{"conv", "full_attention", "conv"}));
  EXPECT_EQ(config.at("num_key_value_heads"), 2);
  EXPECT_EQ(config.at("norm_eps"), 0.5);
}

TEST_F(GgufConfig, what_tensors_there_are_decides_on_biases_and_ties) {
  GgufBytes file = gguf_keys("llama");
  file.floats("output.weight", {2, 2}, {1, 2, 3, 4}).floats("blk.0.attn_q.bias", {2}, {1, 2});
  file.floats("token_embd.weight", {3, 2}, std::vector<float>(6));
  const object config = config_of(file);
  EXPECT_EQ(config.at("tie_word_embeddings"), false);
  EXPECT_EQ(config.at("attention_bias"), true);
  EXPECT_EQ(config.at("mlp_bias"), false);
  EXPECT_EQ(config.at("vocab_size"), 3);
  EXPECT_EQ(config.at("head_dim"), 16) << "64 of 4 heads";
}

TEST_F(GgufConfig, positions_are_scaled_as_the_keys_say) {
  GgufBytes linear = gguf_keys("llama");
  linear.text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4.0F);
  EXPECT_EQ(config_of(linear).at("rope_scaling"),
            (object{{"rope_type", "linear"}, {"factor", 4.0}}));
  GgufBytes old = gguf_keys("llama");
  old.f32("llama.rope.scale_linear", 2.0F);
  EXPECT_EQ(config_of(old).at("rope_scaling"), (object{{"rope_type", "linear"}, {"factor", 2.0}}));
  GgufBytes untyped = gguf_keys("llama");
  untyped.f32("llama.rope.scaling.factor", 4.0F);
  EXPECT_EQ(config_of(untyped).at("rope_scaling"),
            (object{{"rope_type", "linear"}, {"factor", 4.0}}));
  GgufBytes zero = gguf_keys("llama");
  zero.f32("llama.rope.scaling.factor", 0.0F);
  EXPECT_FALSE(config_of(zero).contains("rope_scaling"));
  GgufBytes yarn = gguf_keys("qwen2");
  yarn.text("qwen2.rope.scaling.type", "yarn").f32("qwen2.rope.scaling.factor", 4.0F);
  yarn.u32("qwen2.rope.scaling.original_context_length", 64);
  yarn.f32("qwen2.rope.scaling.yarn_beta_fast", 16.0F);
  yarn.f32("qwen2.rope.scaling.yarn_attn_factor", 0.5F);
  EXPECT_EQ(config_of(yarn).at("rope_scaling"), (object{{"rope_type", "yarn"},
                                                        {"factor", 4.0},
                                                        {"original_max_position_embeddings", 64},
                                                        {"beta_fast", 16.0},
                                                        {"attention_factor", 0.5}}));
  GgufBytes none = gguf_keys("qwen2");
  none.text("qwen2.rope.scaling.type", "none");
  EXPECT_FALSE(config_of(none).contains("rope_scaling"));
  GgufBytes other = gguf_keys("qwen2");
  other.text("qwen2.rope.scaling.type", "longrope");
  EXPECT_THAT(error_of([&] { config_of(other); }), HasSubstr("found longrope"));
}

TEST_F(GgufConfig, factors_of_wavelengths_are_tensors) {
  GgufBytes every = gguf_keys("llama");
  every.floats("rope_freqs.weight", {2}, {1.0F, 8.0F});
  const object scaling = config_of(every).at("rope_scaling").as_object();
  EXPECT_EQ(scaling.at("rope_type"), "longrope");
  EXPECT_EQ(scaling.at("short_factor"), scaling.at("long_factor"));
  EXPECT_EQ(scaling.at("long_factor").at(1), 8.0);
  EXPECT_EQ(scaling.at("attention_factor"), 1.0);
  GgufBytes two = gguf_keys("phi3");
  two.floats("rope_factors_short.weight", {1}, {1.5F}).floats("rope_factors_long.weight", {1}, {4});
  two.u32("phi3.rope.scaling.original_context_length", 64);
  two.f32("phi3.rope.scaling.attn_factor", 1.25F);
  EXPECT_EQ(config_of(two).at("rope_scaling"), (object{{"rope_type", "longrope"},
                                                       {"short_factor", boost::json::array{1.5}},
                                                       {"long_factor", boost::json::array{4.0}},
                                                       {"original_max_position_embeddings", 64},
                                                       {"attention_factor", 1.25}}));
  EXPECT_EQ(config_of(two).at("original_max_position_embeddings"), 64);
  GgufBytes codes = gguf_keys("llama");
  codes.tensor("rope_freqs.weight", 8, {32}, std::string(34, 'x'));
  EXPECT_THAT(error_of([&] { config_of(codes); }), HasSubstr("tensor rope_freqs.weight"));
}

TEST_F(GgufConfig, families_read_keys_of_their_own) {
  GgufBytes phi = gguf_keys("phi3");
  phi.u32("phi3.attention.sliding_window", 0).u32("phi3.rope.dimension_count", 8);
  EXPECT_FALSE(config_of(phi).contains("sliding_window")) << "0 is none";
  EXPECT_EQ(config_of(phi).at("partial_rotary_factor"), 0.5);
  GgufBytes gemma = gguf_keys("gemma2");
  gemma.u32("gemma2.attention.key_length", 48).u32("gemma2.attention.sliding_window", 32);
  gemma.u32("gemma2.attention.value_length", 48).f32("gemma2.attn_logit_softcapping", 50.0F);
  EXPECT_EQ(config_of(gemma).at("sliding_window"), 32);
  EXPECT_EQ(config_of(gemma).at("query_pre_attn_scalar"), 48);
  EXPECT_EQ(config_of(gemma).at("attn_logit_softcapping"), 50.0);
  GgufBytes gemma3 = gguf_keys("gemma3");
  gemma3.u32("gemma3.attention.sliding_window", 512);
  gemma3.text("gemma3.rope.scaling.type", "linear").f32("gemma3.rope.scaling.factor", 8.0F);
  const object usual = config_of(gemma3);
  EXPECT_EQ(usual.at("sliding_window"), 512);
  EXPECT_EQ(usual.at("rope_scaling").at("factor"), 8.0);
  EXPECT_FALSE(usual.contains("sliding_window_pattern") || usual.contains("rope_local_base_freq"));
  gemma3.u32("gemma3.attention.sliding_window_pattern", 4);
  gemma3.f32("gemma3.rope.freq_base_swa", 500.0F);
  EXPECT_EQ(config_of(gemma3).at("sliding_window_pattern"), 4);
  EXPECT_EQ(config_of(gemma3).at("rope_local_base_freq"), 500.0);
  GgufBytes ernie = gguf_keys("ernie4_5");
  ernie.floats("blk.0.attn_q.bias", {64}, std::vector<float>(64));
  EXPECT_THAT(error_of([&] { config_of(ernie); }), HasSubstr("tensor blk.0.attn_output.bias"));
  GgufBytes exaone = gguf_keys("exaone4");
  EXPECT_TRUE(config_of(exaone).at("sliding_window").is_null());
  exaone.u32("exaone4.attention.sliding_window", 64);
  EXPECT_TRUE(config_of(exaone).at("sliding_window").is_null());
  exaone.u32("exaone4.attention.sliding_window_pattern", 4);
  EXPECT_THAT(error_of([&] { config_of(exaone); }),
              HasSubstr("key exaone4.attention.sliding_window_pattern): expected none"));
  EXPECT_EQ(config_of(gguf_keys("qwen2vl")).at("architectures").at(0), "Qwen2ForCausalLM");
  GgufBytes olmo = gguf_keys("olmo2");
  EXPECT_EQ(config_of(olmo).at("architectures").at(0), "Olmo2ForCausalLM");
  olmo.u32("olmo2.attention.sliding_window", 64);
  EXPECT_EQ(config_of(olmo).at("architectures").at(0), "Olmo3ForCausalLM");
  EXPECT_EQ(config_of(olmo).at("sliding_window"), 64);
  EXPECT_EQ(config_of(olmo).at("rope_parameters").at("sliding_attention").at("rope_theta"), 5000.0);
  GgufBytes glm = gguf_keys("glm4");
  EXPECT_EQ(config_of(glm.u32("glm4.rope.dimension_count", 8)).at("partial_rotary_factor"), 0.5);
  GgufBytes granite = gguf_keys("granite");
  EXPECT_EQ(config_of(granite.f32("granite.logit_scale", 8.0F)).at("logits_scaling"), 8.0);
  GgufBytes uneven = gguf_keys("llama");
  uneven.u32("llama.attention.value_length", 8);
  EXPECT_THAT(error_of([&] { config_of(uneven); }),
              HasSubstr("key llama.attention.value_length): expected 16 as of keys, found 8"));
}

TEST_F(GgufConfig, gpt_oss_says_how_positions_are_scaled) {
  const auto file = [] {
    GgufBytes made = gguf_keys("gpt-oss");
    return made.u32("gpt-oss.expert_count", 4).u32("gpt-oss.expert_used_count", 2);
  };
  EXPECT_EQ(config_of(file()).at("rope_scaling").at("rope_type"), "default");
  const auto typed = [&](const char* type) {
    return file().text("gpt-oss.rope.scaling.type", type).f32("gpt-oss.rope.scaling.factor", 32.0F);
  };
  EXPECT_EQ(config_of(typed("yarn")).at("rope_scaling"),
            (object{{"rope_type", "yarn"}, {"factor", 32.0}, {"truncate", false}}));
  EXPECT_EQ(config_of(typed("none")).at("rope_scaling").at("rope_type"), "default");
}

TEST_F(GgufConfig, sampling_is_as_recommended) {
  GgufBytes file = gguf_keys("qwen2");
  file.f32("general.sampling.temp", 0.5F).u32("general.sampling.top_k", 20);
  const object config = generation_of(add_byte_level(file, "qwen2"));
  EXPECT_EQ(config.at("temperature"), 0.5);
  EXPECT_EQ(config.at("top_k"), 20);
  EXPECT_EQ(config.at("eos_token_id"), (boost::json::array{261}));
  EXPECT_FALSE(config.contains("top_p"));
}

}  // namespace
}  // namespace foretoken
