// Configs of dense families: what absent keys mean in each, and what each refuses.

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/testing/config_test_kit.h"

namespace foretoken::model_config_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelConfig, smollm3_rotates_all_but_every_fourth_layer_unless_it_says_otherwise) {
  constexpr LayerRope kMain = LayerRope::kMain, kNone = LayerRope::kNone;
  const ModelConfig config = parse("SmolLM3ForCausalLM", R"({"num_hidden_layers":4})");
  EXPECT_THAT(config.layer_rope, ElementsAre(kMain, kMain, kMain, kNone));
  EXPECT_EQ(config.rope_theta, 2000000.0);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_THAT(parse("SmolLM3ForCausalLM", R"({"no_rope_layers":[0,1,0]})").layer_rope,
              ElementsAre(kNone, kMain, kNone));
  EXPECT_THAT(parse("SmolLM3ForCausalLM",
                    R"({"no_rope_layer_interval":2,"use_sliding_window":true,"sliding_window":8})")
                  .layer_window,
              ElementsAre(0, 8, 0));
  EXPECT_THAT(parse("SmolLM3ForCausalLM", R"({"sliding_window":8,
      "layer_types":["sliding_attention","full_attention","sliding_attention"]})")
                  .layer_window,
              ElementsAre(8, 0, 8));
  EXPECT_THAT(error_of([] { parse("SmolLM3ForCausalLM", R"({"no_rope_layers":[1,1]})"); }),
              HasSubstr("bad value of \"no_rope_layers\" (config.json): expected 3 entries"));
}

TEST(ModelConfig, gpt_oss_says_how_positions_are_scaled) {
  constexpr const char* kFlat = R"({"rope_theta":150000,"rope_scaling":null})";
  for (const char* settings : {"{}", kFlat})
    EXPECT_THAT(error_of([&] { parse("GptOssForCausalLM", settings); }),
                HasSubstr("missing key \"rope_parameters\""));
  EXPECT_EQ(parse("GptOssForCausalLM", R"({"rope_parameters":{"rope_theta":1000}})").rope_theta,
            1000.0);
}

TEST(ModelConfig, granite_scales_scores_by_1_unless_it_says_otherwise) {
  EXPECT_EQ(parse("GraniteForCausalLM").score_scale, 1.0);
  const ModelConfig config =
      parse("GraniteForCausalLM", R"({"embedding_multiplier":12,"residual_multiplier":0.22,
                                      "attention_multiplier":0.015625,"logits_scaling":8})");
  EXPECT_EQ(config.embedding_scale, 12.0);
  EXPECT_EQ(config.residual_scale, 0.22F);
  EXPECT_EQ(config.score_scale, 0.015625);
  EXPECT_EQ(config.logit_scale, 0.125F);
  EXPECT_THAT(error_of([] { parse("GraniteForCausalLM", R"({"logits_scaling":0})"); }),
              HasSubstr("logits_scaling"));
}

TEST(ModelConfig, gemma2_caps_unless_it_says_null) {
  const ModelConfig usual = parse("Gemma2ForCausalLM");
  EXPECT_EQ(usual.score_cap, 50.0);
  EXPECT_EQ(usual.logit_cap, 30.0F);
  EXPECT_EQ(usual.score_scale, 1.0 / 16);
  EXPECT_EQ(usual.embedding_scale, 8.0);
  EXPECT_EQ(usual.activation, Activation::kGeluTanh);
  EXPECT_THAT(usual.layer_window, ElementsAre(4096, 0, 4096));
  const ModelConfig other =
      parse("Gemma2ForCausalLM", R"({"attn_logit_softcapping":null,"final_logit_softcapping":null,
                                     "hidden_activation":"gelu","hidden_act":"relu"})");
  EXPECT_EQ(other.score_cap + other.logit_cap, 0.0);
  EXPECT_EQ(other.activation, Activation::kGelu);
  EXPECT_THAT(error_of([] { parse("Gemma2ForCausalLM", R"({"hidden_activation":"relu"})"); }),
              HasSubstr("hidden_activation"));
  EXPECT_THAT(
      error_of([] { parse("Gemma2ForCausalLM", R"({"use_bidirectional_attention":true})"); }),
      HasSubstr("use_bidirectional_attention"));
}

// As the hub's config of 4B has it: what is not there is as usual.
constexpr const char* kTowers = R"({"architectures":["Gemma3ForConditionalGeneration"],
    "model_type":"gemma3","eos_token_id":[1,106],"torch_dtype":"bfloat16",
    "vision_config":{"hidden_size":1152,"num_attention_heads":16},
    "text_config":{"hidden_size":2560,"intermediate_size":10240,"model_type":"gemma3_text",
        "num_hidden_layers":7,"rope_scaling":{"factor":8.0,"rope_type":"linear"},
        "sliding_window":1024}})";

TEST(ModelConfig, gemma3_slides_in_five_of_six_layers_by_a_theta_of_their_own) {
  constexpr LayerRope kMain = LayerRope::kMain, kLocal = LayerRope::kLocal;
  const ModelConfig usual = parse("Gemma3ForCausalLM", R"({"num_hidden_layers":7})");
  EXPECT_THAT(usual.layer_window, ElementsAre(4096, 4096, 4096, 4096, 4096, 0, 4096));
  EXPECT_THAT(usual.layer_rope, ElementsAre(kLocal, kLocal, kLocal, kLocal, kLocal, kMain, kLocal));
  EXPECT_EQ(usual.rope_theta, 1e6);
  EXPECT_EQ(usual.local_rope_theta, 1e4);
  EXPECT_EQ(usual.score_scale, 1.0 / 16);
  EXPECT_EQ(usual.logit_cap + usual.score_cap, 0.0);
  EXPECT_TRUE(usual.qk_norm && usual.tied_embeddings && !usual.has_towers);
  const ModelConfig other =
      parse("Gemma3ForCausalLM",
            R"({"sliding_window_pattern":2,"rope_theta":5.0,"rope_local_base_freq":7.0,
          "rope_parameters":{"sliding_attention":{"rope_type":"default","rope_theta":9.0},
                             "full_attention":{"rope_type":"linear","factor":4.0}}})");
  EXPECT_THAT(other.layer_window, ElementsAre(4096, 0, 4096));
  EXPECT_EQ(other.rope_theta, 5.0);
  EXPECT_EQ(other.local_rope_theta, 9.0);
  EXPECT_EQ(other.rope.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(other.context_length, 131072) << "the scaling is part of the trained length";
  const ModelConfig listed = parse("Gemma3ForCausalLM", R"({"layer_types":["full_attention",
      "sliding_attention","full_attention"],"sliding_window":null})");
  EXPECT_TRUE(listed.layer_window.empty());
  EXPECT_THAT(listed.layer_rope, ElementsAre(kMain, kLocal, kMain));
}

TEST(ModelConfig, gemma3_refuses_what_it_does_not_read) {
  const auto fault = [](const std::string& changes) {
    return error_of([&] { parse("Gemma3ForCausalLM", changes); });
  };
  EXPECT_THAT(fault(R"({"rope_parameters":{"rope_type":"default","rope_theta":3.0}})"),
              HasSubstr("settings of full_attention and sliding_attention"));
  EXPECT_THAT(
      fault(R"({"rope_parameters":{"sliding_attention":{"rope_type":"linear","factor":2}}})"),
      HasSubstr("positions that are not scaled"));
  EXPECT_THAT(fault(R"({"rope_parameters":{"sliding_attention":{"rope_theta":0.5}}})"),
              HasSubstr("\"rope_theta\" (config.json, rope_parameters, sliding_attention)"));
  EXPECT_THAT(fault(R"({"attn_logit_softcapping":50.0})"), HasSubstr("softcapping of attention"));
  for (const char* key : {"query_pre_attn_scalar", "rope_local_base_freq"})
    EXPECT_THAT(fault("{\"" + std::string(key) + "\":0}"), HasSubstr(key));
  EXPECT_THAT(fault(R"({"sliding_window_pattern":0})"), HasSubstr("sliding_window_pattern"));
  EXPECT_THAT(fault(R"({"use_bidirectional_attention":true})"),
              HasSubstr("use_bidirectional_attention"));
}

TEST(ModelConfig, the_text_of_a_model_with_towers_is_nested) {
  const ModelConfig config = ModelConfig::parse(kTowers, "config.json");
  EXPECT_EQ(config.architecture, "Gemma3ForConditionalGeneration");
  EXPECT_EQ(config.model_type, "gemma3");
  EXPECT_TRUE(config.has_towers && config.tied_embeddings);
  EXPECT_EQ(config.hidden, 2560);
  EXPECT_EQ(config.heads, 8);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.vocab, 262208);
  EXPECT_EQ(config.max_position, 131072);
  EXPECT_EQ(config.rope.factor, 8.0);
  EXPECT_THAT(config.eos, ElementsAre(1, 106));
  EXPECT_EQ(config.stored_dtype, DType::kBF16);
}

TEST(ModelConfig, overrides_reach_the_nested_config) {
  const ModelConfig config = ModelConfig::parse(
      kTowers, "config.json", R"({"max_position_embeddings":77,"tie_word_embeddings":false})");
  EXPECT_EQ(config.context_length, 77);
  EXPECT_FALSE(config.tied_embeddings);
  const auto fault = [](const char* overrides) {
    return error_of([&] { ModelConfig::parse(kTowers, "config.json", overrides); });
  };
  EXPECT_THAT(fault(R"({"text_config":null})"), HasSubstr("missing key \"text_config\""));
  EXPECT_THAT(fault(R"({"text_config":{"model_type":"gpt2"}})"),
              HasSubstr("config.json, text_config): expected model_type of a text model that is "
                        "served, found gpt2"));
  EXPECT_THAT(fault(R"({"text_config":{"model_type":"gemma3"}})"), HasSubstr("found gemma3"));
  EXPECT_THAT(fault(R"({"hidden_size":0})"),
              HasSubstr("\"hidden_size\" (config.json, text_config)"));
}

TEST(ModelConfig, older_configs_of_qwen2_vl_have_one_level) {
  constexpr const char* kFlat = R"({"architectures":["Qwen2_5_VLForConditionalGeneration"],
      "model_type":"qwen2_5_vl","hidden_size":64,"num_hidden_layers":3,"num_attention_heads":4,
      "num_key_value_heads":2,"intermediate_size":96,"vocab_size":100,"head_dim":48,
      "rope_scaling":{"type":"mrope","mrope_section":[2,3,3]},"rope_theta":5.0,
      "use_sliding_window":true,"sliding_window":8,"vision_config":{"hidden_size":5}})";
  const auto parsed = [&](const char* changes) {
    return ModelConfig::parse(kFlat, "config.json", changes);
  };
  const ModelConfig config = parsed("{}");
  EXPECT_EQ(config.architecture, "Qwen2_5_VLForConditionalGeneration");
  EXPECT_TRUE(config.has_towers && config.qkv_bias && !config.tied_embeddings);
  EXPECT_EQ(config.head_dim, 16) << "the stream's width divided by heads, whatever head_dim says";
  EXPECT_EQ(config.rope_theta, 5.0);
  EXPECT_EQ(config.rope.kind, RopeScaling::Kind::kNone);
  EXPECT_EQ(config.rms_eps, 1e-5F);
  EXPECT_THAT(config.layer_window, ElementsAre(0, 0, 0)) << "none of 80 layers";
  EXPECT_THAT(parsed(R"({"max_window_layers":1})").layer_window, ElementsAre(0, 8, 8));
  EXPECT_THAT(error_of([&] { parsed(R"({"num_attention_heads":6})"); }),
              HasSubstr("\"num_attention_heads\" (config.json)"));
  EXPECT_THAT(error_of([&] { parsed(R"({"hidden_size":null})"); }), HasSubstr("\"hidden_size\""));
}

TEST(ModelConfig, qwen3_vl_has_sections_of_positions_and_no_windows) {
  const ModelConfig config =
      parse("Qwen3VLForConditionalGeneration",
            R"({"use_sliding_window":true,"sliding_window":8,"attention_bias":true,
                "rope_scaling":{"mrope_interleaved":true,"mrope_section":[4,2,2]}})");
  EXPECT_TRUE(config.qk_norm && config.qkv_bias && config.o_bias && config.layer_window.empty());
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.rope_theta, 500000.0);
  const ModelConfig experts =
      parse("Qwen3VLMoeForConditionalGeneration", R"({"norm_topk_prob":false})");
  EXPECT_EQ(experts.experts.routing.experts, 60);
  EXPECT_EQ(experts.experts.intermediate, 1408);
  EXPECT_TRUE(experts.experts.routing.normalises);
}

TEST(ModelConfig, relatives_of_llama_have_biases_of_their_own) {
  const ModelConfig seed = parse("SeedOssForCausalLM");
  EXPECT_TRUE(seed.qkv_bias && !seed.o_bias && !seed.mlp_bias);
  EXPECT_EQ(seed.head_dim, 128);
  EXPECT_TRUE(parse("SeedOssForCausalLM", R"({"attention_out_bias":true})").o_bias);
  const ModelConfig ernie = parse("Ernie4_5ForCausalLM", R"({"use_bias":true})");
  EXPECT_TRUE(ernie.qkv_bias && ernie.o_bias && ernie.mlp_bias && ernie.pairs_neighbours);
  EXPECT_TRUE(ernie.tied_embeddings);
  EXPECT_FALSE(parse("Ernie4_5ForCausalLM", R"({"attention_bias":true})").qkv_bias);
  EXPECT_TRUE(parse("Ernie4_5_ForCausalLM").tied_embeddings) << "the name of the first files";
}

TEST(ModelConfig, hunyuan_stretches_theta_by_alpha) {
  const auto theta = [](const std::string& scaling) {
    return parse("HunYuanDenseV1ForCausalLM",
                 R"({"rope_scaling":{"type":"dynamic","factor":2)" + scaling + "}}");
  };
  EXPECT_NEAR(theta(R"(,"alpha":50)").rope_theta, 1e4 * std::pow(50.0, 16.0 / 14.0), 1e-6);
  EXPECT_EQ(theta(R"(,"alpha":50)").rope.kind, RopeScaling::Kind::kNone);
  EXPECT_EQ(theta("").rope.kind, RopeScaling::Kind::kDynamic);
  EXPECT_EQ(parse("HunYuanDenseV1ForCausalLM").rms_eps, 1e-5F);
  const auto fault = [](const std::string& scaling) {
    return error_of(
        [&] { parse("HunYuanDenseV1ForCausalLM", "{\"rope_scaling\":{" + scaling + "}}"); });
  };
  EXPECT_THAT(fault(R"("type":"dynamic","factor":2,"alpha":-1)"), HasSubstr("\"alpha\""));
  EXPECT_THAT(fault(R"("type":"yarn","factor":2,"original_max_position_embeddings":64)"),
              HasSubstr("\"attention_factor\""));
}

TEST(ModelConfig, cohere_has_layer_norms_beside_each_other) {
  const ModelConfig cohere = parse("CohereForCausalLM", R"({"layer_norm_eps":0.5})");
  EXPECT_TRUE(cohere.centres_stream && cohere.is_parallel && cohere.norms.before_mlp.empty());
  EXPECT_EQ(cohere.rms_eps, 0.5F);
  EXPECT_EQ(cohere.logit_scale, 0.0625F);
  EXPECT_EQ(cohere.rope_theta, 500000.0);
  EXPECT_TRUE(cohere.layer_window.empty() && cohere.tied_embeddings);
  EXPECT_EQ(parse("CohereForCausalLM", R"({"model_max_length":131072})").context_length, 131072);
  const ModelConfig later = parse("Cohere2ForCausalLM", R"({"sliding_window_pattern":2})");
  EXPECT_THAT(later.layer_window, ElementsAre(4096, 0, 4096));
  EXPECT_THAT(later.layer_rope, ElementsAre(LayerRope::kMain, LayerRope::kNone, LayerRope::kMain));
  EXPECT_EQ(later.rms_eps, 1e-5F);
  EXPECT_EQ(later.rope_theta, 10000.0);
  const auto fault = [](const std::string& family, const char* changes) {
    return error_of([&] { parse(family, changes); });
  };
  EXPECT_THAT(fault("CohereForCausalLM", R"({"use_qk_norm":true})"), HasSubstr("use_qk_norm"));
  EXPECT_THAT(fault("CohereForCausalLM", R"({"layer_norm_eps":-1})"), HasSubstr("layer_norm_eps"));
  EXPECT_THAT(fault("Cohere2ForCausalLM", R"({"sliding_window":null})"),
              HasSubstr("sliding_window"));
}

TEST(ModelConfig, exaone4_rotates_where_it_slides) {
  constexpr LayerRope kMain = LayerRope::kMain, kNone = LayerRope::kNone;
  const ModelConfig config = parse("Exaone4ForCausalLM", R"({"num_hidden_layers":4})");
  EXPECT_THAT(config.layer_window, ElementsAre(4096, 4096, 4096, 0));
  EXPECT_THAT(config.layer_rope, ElementsAre(kMain, kMain, kMain, kNone));
  const ModelConfig whole = parse("Exaone4ForCausalLM", R"({"sliding_window":null})");
  EXPECT_TRUE(whole.layer_window.empty() && whole.layer_rope.empty());
  EXPECT_THAT(parse("Exaone4ForCausalLM", R"({"sliding_window_pattern":"LLG",
      "layer_types":["sliding_attention","full_attention","full_attention"]})")
                  .layer_window,
              ElementsAre(4096, 0, 0));
  EXPECT_THAT(error_of([] { parse("Exaone4ForCausalLM", R"({"sliding_window_pattern":"LLG"})"); }),
              HasSubstr("\"sliding_window_pattern\""));
}

TEST(ModelConfig, olmo_norms_what_blocks_make_and_all_heads_together) {
  for (const char* name : {"Olmo2ForCausalLM", "Olmo3ForCausalLM"}) {
    const ModelConfig config = parse(name);
    EXPECT_TRUE(config.whole_qk_norm && !config.qk_norm) << name;
    EXPECT_EQ(config.norms.before_attention + config.norms.before_mlp, "");
    EXPECT_EQ(config.norms.after_attention, "post_attention_layernorm");
    EXPECT_EQ(config.norms.after_mlp, "post_feedforward_layernorm");
    EXPECT_EQ(config.rms_eps, 1e-5F);
  }
  EXPECT_TRUE(parse("Olmo2ForCausalLM").layer_rope.empty());
  EXPECT_EQ(parse("Olmo2ForCausalLM").rope_theta, 1e4);
}

TEST(ModelConfig, olmo3_slides_in_three_of_four_layers_by_the_usual_theta) {
  const auto with = [](const std::string& settings) {
    return parse("Olmo3ForCausalLM", R"({"num_hidden_layers":4,"rope_scaling":{
          "rope_type":"yarn","factor":8.0,"original_max_position_embeddings":512},
          "max_position_embeddings":4096)" +
                                         settings + "}");
  };
  const ModelConfig olmo3 = with(R"(,"rope_theta":5e5)");
  EXPECT_THAT(olmo3.layer_window, ElementsAre(4096, 4096, 4096, 0));
  EXPECT_EQ(olmo3.rope_of(0), LayerRope::kLocal);
  EXPECT_EQ(olmo3.rope_of(3), LayerRope::kMain);
  EXPECT_EQ(olmo3.rope_theta, 5e5);
  EXPECT_EQ(olmo3.local_rope_theta, 5e5);
  EXPECT_EQ(olmo3.rope.kind, RopeScaling::Kind::kYarn);
  EXPECT_EQ(olmo3.context_length, 4096);
  const ModelConfig by_type = with(R"(,"rope_theta":7e4,"rope_parameters":{
      "sliding_attention":{"rope_theta":9e4},"full_attention":{"rope_theta":8e4}})");
  EXPECT_EQ(by_type.rope_theta, 8e4);
  EXPECT_EQ(by_type.local_rope_theta, 9e4);
  EXPECT_EQ(by_type.rope.kind, RopeScaling::Kind::kYarn) << "a scaling is of those that see all";
  EXPECT_EQ(by_type.rope.factor, 8.0);
  for (const char* unclear : {R"(,"rope_theta":7e4)", R"(,"rope_theta":7e4,"rope_parameters":{
           "sliding_attention":{},"full_attention":{"rope_theta":8e4}})"})
    EXPECT_THAT(error_of([&] { with(unclear); }), HasSubstr("\"rope_theta\" (config.json): "));
  EXPECT_THAT(error_of([&] { with(R"(,"rope_parameters":{"rope_theta":5e5})"); }),
              HasSubstr("settings of full_attention and sliding_attention"));
  EXPECT_EQ(parse("Olmo3ForCausalLM").local_rope_theta, 5e5);
}

TEST(ModelConfig, glm4_rotates_half_of_each_head_by_neighbours) {
  const ModelConfig usual = parse("Glm4ForCausalLM");
  EXPECT_TRUE(usual.qkv_bias && !usual.o_bias && usual.is_gate_up_fused && usual.pairs_neighbours);
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rotated(), 64);
  EXPECT_EQ(usual.norms.after_attention, "post_self_attn_layernorm");
  EXPECT_EQ(usual.norms.before_mlp, "post_attention_layernorm");
  EXPECT_EQ(usual.norms.after_mlp, "post_mlp_layernorm");
  const ModelConfig other =
      parse("Glm4ForCausalLM", R"({"partial_rotary_factor":1.0,"attention_bias":false})");
  EXPECT_EQ(other.rotated(), 128);
  EXPECT_FALSE(other.qkv_bias);
}

TEST(ModelConfig, ministral3_lets_scores_grow_as_its_rotary_settings_say) {
  const auto with = [](const std::string& rope) {
    return parse("Ministral3ForCausalLM",
                 R"({"rope_parameters":{"rope_type":"yarn","factor":16.0)" + rope + "}}");
  };
  const ModelConfig config =
      with(R"(,"llama_4_scaling_beta":0.1,"original_max_position_embeddings":16384)");
  EXPECT_EQ(config.score_growth, 0.1);
  EXPECT_EQ(config.score_growth_length, 16384);
  EXPECT_EQ(config.rope_theta, 1e6);
  EXPECT_EQ(config.rms_eps, 1e-5F);
  EXPECT_TRUE(config.layer_window.empty());
  EXPECT_EQ(with("").score_growth, 0.0);
  EXPECT_THAT(error_of([&] { with(R"(,"llama_4_scaling_beta":0.1)"); }),
              HasSubstr("missing key \"original_max_position_embeddings\""));
  EXPECT_THAT(error_of([&] { with(R"(,"llama_4_scaling_beta":-1)"); }),
              HasSubstr("llama_4_scaling_beta"));
  EXPECT_THAT(error_of([] { parse("Ministral3ForCausalLM"); }), HasSubstr("rope_parameters"));
  EXPECT_THAT(fault_of(R"({"rope_parameters":{"llama_4_scaling_beta":0.1}})"),
              HasSubstr("llama_4_scaling_beta"));
}

TEST(ModelConfig, the_text_of_mistral3_is_of_the_family_that_it_names) {
  const auto of = [](const std::string& text) {
    return ModelConfig::parse(
        R"({"architectures":["Mistral3ForConditionalGeneration"],"text_config":)" +
            config_text("", text) + "}",
        "config.json");
  };
  const ModelConfig usual = of(R"({"architectures":null,"sliding_window":null})");
  EXPECT_TRUE(usual.has_towers && usual.tied_embeddings && usual.layer_window.empty());
  EXPECT_EQ(usual.architecture, "Mistral3ForConditionalGeneration");
  const ModelConfig growing =
      of(R"({"model_type":"ministral3","rope_parameters":{"rope_type":"yarn",
      "factor":2,"llama_4_scaling_beta":0.1,"original_max_position_embeddings":64}})");
  EXPECT_EQ(growing.score_growth_length, 64);
}

TEST(ModelConfig, phi3_may_rotate_a_part_of_each_head) {
  EXPECT_EQ(parse("Phi3ForCausalLM").rotated(), 16);
  for (const char* where :
       {R"({"partial_rotary_factor":0.5})", R"({"rope_parameters":{"partial_rotary_factor":0.5}})"})
    EXPECT_EQ(parse("Phi3ForCausalLM", where).rotated(), 8) << where;
  EXPECT_THAT(error_of([] { parse("Phi3ForCausalLM", R"({"partial_rotary_factor":0.2})"); }),
              HasSubstr("partial_rotary_factor"));
  EXPECT_TRUE(parse("Phi3ForCausalLM").layer_window.empty());
  EXPECT_THAT(parse("Phi3ForCausalLM", R"({"sliding_window":9})").layer_window,
              ElementsAre(9, 9, 9));
}

TEST(ModelConfig, phi3_says_its_original_length_beside_its_rotary_settings) {
  const auto with = [](const std::string& type, const std::string& settings) {
    return parse("Phi3ForCausalLM", R"({"rope_scaling":{"short_factor":[1,1,1,1,1,1,1,1],
        "long_factor":[2,2,2,2,2,2,2,2],"type":")" +
                                        type + "\"" + settings + "}");
  };
  EXPECT_EQ(
      with("longrope", R"(},"original_max_position_embeddings":64)").rope.original_max_position,
      64);
  EXPECT_EQ(with("su", R"(,"original_max_position_embeddings":4096})").rope.original_max_position,
            4096);
  for (const char* settings : {"}", R"(,"original_max_position_embeddings":64})"})
    EXPECT_THAT(error_of([&] { with("longrope", settings); }),
                HasSubstr("missing key \"original_max_position_embeddings\" (config.json)"));
  EXPECT_THAT(error_of([&] { with("yarn", R"(},"original_max_position_embeddings":64)"); }),
              HasSubstr("\"type\" (config.json, rope_scaling): expected longrope"));
}

// What the whole says of tied embeddings counts, or what it is by itself.
TEST(ModelConfig, texts_of_models_with_towers_do_not_say_that_they_are_not_tied) {
  const auto tied = [](const std::string& whole, const std::string& text) {
    return ModelConfig::parse("{" + whole + "\"text_config\":" + config_text("", text) + "}",
                              "config.json")
        .tied_embeddings;
  };
  const std::string mistral = R"("architectures":["Mistral3ForConditionalGeneration"],)";
  const std::string qwen = R"("architectures":["Qwen3_5ForConditionalGeneration"],)";
  const std::string no = R"("tie_word_embeddings":false,)";
  const char* const inner_no = R"({"tie_word_embeddings":false})";
  const char* const inner_yes = R"({"tie_word_embeddings":true})";
  EXPECT_TRUE(tied(mistral, inner_no));
  EXPECT_FALSE(tied(mistral + no, inner_yes));
  EXPECT_FALSE(tied(qwen, inner_no));
  EXPECT_TRUE(tied(qwen, inner_yes));
  EXPECT_FALSE(tied(qwen + no, inner_yes));
  const std::string older = R"("architectures":["Lfm2VlForConditionalGeneration"],
      "tie_embedding":false,)";
  EXPECT_FALSE(tied(older, R"({"model_type":"lfm2","full_attn_idxs":[0,1,2]})"));
}

TEST(ModelConfig, logits_of_gemma3_with_towers_have_no_cap) {
  const auto fault = [](const char* cap) {
    return error_of([&] {
      ModelConfig::parse(kTowers, "config.json",
                         "{\"final_logit_softcapping\":" + std::string(cap) + "}");
    });
  };
  EXPECT_EQ(fault("null"), "");
  EXPECT_THAT(fault("30.0"),
              HasSubstr("\"final_logit_softcapping\" (config.json, text_config): expected null"));
}

TEST(ModelConfig, gemma2_scales_scores_by_any_number_above_0) {
  for (const double scalar : {0.25, 4.0})
    EXPECT_EQ(
        parse("Gemma2ForCausalLM", "{\"query_pre_attn_scalar\":" + std::to_string(scalar) + "}")
            .score_scale,
        scalar == 4.0 ? 0.5 : 2.0);
  for (const char* scalar : {"0", "-0.25", "-4"})
    EXPECT_THAT(error_of([&] {
                  parse("Gemma2ForCausalLM",
                        std::string(R"({"query_pre_attn_scalar":)") + scalar + "}");
                }),
                HasSubstr("query_pre_attn_scalar"));
}

}  // namespace
}  // namespace foretoken::model_config_test
