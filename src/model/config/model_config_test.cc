#include "model/config/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/testing/config_test_kit.h"

namespace foretoken::model_config_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelConfig, absent_keys_take_the_defaults_of_the_architecture) {
  const ModelConfig llama = parse("LlamaForCausalLM", R"({"num_key_value_heads":null})");
  EXPECT_EQ(llama.kv_heads, 4);
  EXPECT_EQ(llama.head_dim, 16);
  EXPECT_EQ(llama.max_position, 2048);
  EXPECT_EQ(llama.context_length, 2048);
  EXPECT_EQ(llama.rms_eps, 1e-6F);
  EXPECT_EQ(llama.rope_theta, 10000.0);
  EXPECT_FALSE(llama.qkv_bias || llama.o_bias || llama.mlp_bias || llama.qk_norm);
  EXPECT_FALSE(llama.tied_embeddings);
  EXPECT_FALSE(llama.stored_dtype.has_value());
  EXPECT_TRUE(llama.layer_window.empty());

  const ModelConfig qwen2 = parse("Qwen2ForCausalLM");
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.o_bias);
  EXPECT_EQ(qwen2.max_position, 32768);

  const ModelConfig qwen3 = parse("Qwen3ForCausalLM");
  EXPECT_TRUE(qwen3.qk_norm);
  EXPECT_FALSE(qwen3.qkv_bias);
  EXPECT_EQ(qwen3.head_dim, 128);
}

TEST(ModelConfig, mistral_slides_over_4096_positions_unless_it_says_otherwise) {
  EXPECT_THAT(parse("MistralForCausalLM").layer_window, ElementsAre(4096, 4096, 4096));
  EXPECT_THAT(parse("MistralForCausalLM", R"({"sliding_window":8})").layer_window,
              ElementsAre(8, 8, 8));
  EXPECT_TRUE(parse("MistralForCausalLM", R"({"sliding_window":null})").layer_window.empty());
}

TEST(ModelConfig, qwen_slides_in_its_upper_layers_when_switched_on) {
  EXPECT_TRUE(parse("Qwen2ForCausalLM", R"({"sliding_window":8})").layer_window.empty());
  const std::string on = R"({"use_sliding_window":true,"sliding_window":8,"max_window_layers":2)";
  EXPECT_THAT(parse("Qwen2ForCausalLM", on + "}").layer_window, ElementsAre(0, 0, 8));
  EXPECT_THAT(
      parse("Qwen3ForCausalLM",
            on + R"(,"layer_types":["sliding_attention","full_attention","full_attention"]})")
          .layer_window,
      ElementsAre(8, 0, 0));
}

TEST(ModelConfig, mimo_is_a_qwen_2_with_draft_heads) {
  const ModelConfig config = parse("MiMoForCausalLM", R"({"num_nextn_predict_layers":1})");
  EXPECT_TRUE(config.qkv_bias && !config.o_bias && !config.mlp_bias && !config.qk_norm);
  EXPECT_EQ(config.mtp_layers, 1);
  EXPECT_EQ(parse("Qwen2ForCausalLM").mtp_layers, 0);
}

TEST(ModelConfig, flags_tokens_and_dtypes_are_read) {
  const ModelConfig config =
      parse("LlamaForCausalLM",
            R"({"attention_bias":true,"mlp_bias":true,"tie_word_embeddings":true,"head_dim":32,
                "eos_token_id":[7,8],"bos_token_id":5,"torch_dtype":"float16","rms_norm_eps":1e-5,
                "max_position_embeddings":4096.0,"rope_theta":500000})");
  EXPECT_TRUE(config.qkv_bias && config.o_bias && config.mlp_bias && config.tied_embeddings);
  EXPECT_EQ(config.head_dim, 32);
  EXPECT_THAT(config.eos, ElementsAre(7, 8));
  EXPECT_EQ(config.bos, 5);
  EXPECT_EQ(config.stored_dtype, DType::kF16);
  EXPECT_EQ(config.rms_eps, 1e-5F);
  EXPECT_EQ(config.max_position, 4096);
  EXPECT_EQ(config.rope_theta, 500000.0);
  const auto stored = [](const std::string& name) {
    return parse("LlamaForCausalLM", R"({"dtype":")" + name + R"("})").stored_dtype;
  };
  EXPECT_EQ(stored("bfloat16"), DType::kBF16);
  EXPECT_EQ(stored("bf16"), DType::kBF16);
  EXPECT_EQ(stored("torch.float16"), DType::kF16);
  EXPECT_EQ(stored("fp16"), DType::kF16);
  EXPECT_EQ(stored("fp32"), DType::kF32);
  EXPECT_EQ(stored("auto"), std::nullopt);
  EXPECT_THAT(parse("LlamaForCausalLM", R"({"eos_token_id":2})").eos, ElementsAre(2));
  EXPECT_THAT(parse("LlamaForCausalLM", R"({"eos_token_id":-1})").eos, ElementsAre());
  EXPECT_THAT(parse("LlamaForCausalLM", R"({"eos_token_id":[-1,2]})").eos, ElementsAre(2));
}

TEST(ModelConfig, overrides_replace_keys) {
  const ModelConfig config =
      ModelConfig::parse(config_text("LlamaForCausalLM"), "config.json",
                         R"({"num_hidden_layers":1,"max_position_embeddings":77})");
  EXPECT_EQ(config.layers, 1);
  EXPECT_EQ(config.context_length, 77);
  EXPECT_THAT(
      error_of([] { ModelConfig::parse(config_text("LlamaForCausalLM"), "config.json", "[1]"); }),
      HasSubstr("model config overrides"));
}

TEST(ModelConfig, an_unknown_architecture_is_refused_with_the_supported_ones) {
  EXPECT_THAT(
      error_of([] { parse("GPT2LMHeadModel"); }),
      HasSubstr(
          "this model architecture is not supported (config.json): expected "
          "LlamaForCausalLM, Llama4ForCausalLM, Llama4ForConditionalGeneration, "
          "MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, "
          "MiMoForCausalLM, SmolLM3ForCausalLM, GraniteForCausalLM, "
          "Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3ForConditionalGeneration, "
          "Gemma4ForCausalLM, Gemma4ForConditionalGeneration, "
          "Gemma4UnifiedForCausalLM, Gemma4UnifiedForConditionalGeneration, "
          "Phi3ForCausalLM, Olmo2ForCausalLM, Olmo3ForCausalLM, Glm4ForCausalLM, "
          "Ministral3ForCausalLM, CohereForCausalLM, Cohere2ForCausalLM, SeedOssForCausalLM, "
          "Ernie4_5ForCausalLM, Ernie4_5_ForCausalLM, "
          "Exaone4ForCausalLM, HunYuanDenseV1ForCausalLM, Qwen2VLForConditionalGeneration, "
          "Qwen2_5_VLForConditionalGeneration, Qwen3VLForConditionalGeneration, "
          "Qwen3VLMoeForConditionalGeneration, InternVLForConditionalGeneration, "
          "Mistral3ForConditionalGeneration, MixtralForCausalLM, "
          "Qwen2MoeForCausalLM, Qwen3MoeForCausalLM, OlmoeForCausalLM, Glm4MoeForCausalLM, "
          "GptOssForCausalLM, DeepseekV2ForCausalLM, DeepseekV3ForCausalLM, "
          "Glm4MoeLiteForCausalLM, Qwen3NextForCausalLM, Qwen3_5ForCausalLM, "
          "Qwen3_5ForConditionalGeneration, Qwen3_5MoeForCausalLM, "
          "Qwen3_5MoeForConditionalGeneration, Lfm2ForCausalLM, Lfm2MoeForCausalLM, "
          "Lfm2VlForConditionalGeneration, GraniteMoeHybridForCausalLM, found GPT2LMHeadModel"));
  EXPECT_THAT(fault_of(R"({"architectures":[]})"), HasSubstr("missing key \"architectures\""));
}

TEST(ModelConfig, without_an_architecture_the_type_of_the_model_tells_it) {
  const auto architecture = [](const std::string& type) {
    return parse("", R"({"architectures":null,"model_type":")" + type + R"("})").architecture;
  };
  EXPECT_EQ(architecture("llama"), "LlamaForCausalLM");
  EXPECT_EQ(architecture("mistral"), "MistralForCausalLM");
  EXPECT_EQ(architecture("qwen2"), "Qwen2ForCausalLM");
  EXPECT_EQ(architecture("qwen3"), "Qwen3ForCausalLM");
  EXPECT_EQ(architecture("mimo"), "MiMoForCausalLM");
  EXPECT_THAT(fault_of(R"({"architectures":[],"model_type":"gpt2"})"),
              HasSubstr("missing key \"architectures\""));
  EXPECT_EQ(parse("Qwen2ForCausalLM", R"({"model_type":"llama"})").architecture,
            "Qwen2ForCausalLM");
}

TEST(ModelConfig, features_of_other_decoders_are_refused_by_name) {
  const std::pair<const char*, const char*> kRefused[] = {
      {R"({"num_experts":8})", "mixture of experts"},
      {R"({"num_local_experts":8})", "mixture of experts"},
      {R"({"partial_rotary_factor":0.5})", "partial rotary embeddings"},
      {R"({"attn_logit_softcapping":50.0})", "softcapping of attention logits"},
      {R"({"final_logit_softcapping":30.0})", "softcapping of logits"},
      {R"({"attention_sinks":true})", "attention sinks"},
      {R"({"attention_chunk_size":8192})", "chunked attention"},
      {R"({"no_rope_layers":[1,1,0]})", "layers without rotary embeddings"},
      {R"({"embedding_multiplier":12.0})", "scaled embeddings"},
      {R"({"clip_qkv":8})", "clipping of q, k and v"},
  };
  for (const auto& [changes, feature] : kRefused) {
    EXPECT_THAT(fault_of(changes), HasSubstr("the model uses " + std::string(feature)));
    EXPECT_THAT(fault_of(changes), HasSubstr("config.json"));
  }
  EXPECT_THAT(
      fault_of(R"({"hidden_act":"gelu"})"),
      HasSubstr("bad value of \"hidden_act\" (config.json): expected silu, found \"gelu\""));
  EXPECT_THAT(fault_of(R"({"layer_types":["full_attention","linear_attention","full_attention"]})"),
              HasSubstr("layer_types"));
}

// Features are read by families that know them and refused where the family does not.
TEST(ModelConfig, features_of_one_family_are_refused_in_another) {
  EXPECT_THAT(error_of([] { parse("GraniteForCausalLM", R"({"final_logit_softcapping":30.0})"); }),
              HasSubstr("the model uses softcapping of logits"));
  EXPECT_THAT(error_of([] { parse("Gemma2ForCausalLM", R"({"residual_multiplier":0.5})"); }),
              HasSubstr("the model uses scaled residuals"));
}

TEST(ModelConfig, features_that_are_switched_off_are_accepted) {
  EXPECT_EQ(fault_of(R"({"quantization_config":{}})"), "");
  EXPECT_EQ(fault_of(R"({"quantization_config":null,"num_experts":0,"num_local_experts":1,
                         "partial_rotary_factor":1.0,"attn_logit_softcapping":null,
                         "attention_sinks":false,"logits_scaling":1,"pretraining_tp":1})"),
            "");
}

TEST(ModelConfig, impossible_sizes_are_refused) {
  EXPECT_THAT(fault_of(R"({"hidden_size":null})"), HasSubstr("missing key \"hidden_size\""));
  EXPECT_THAT(fault_of(R"({"hidden_size":"64"})"), HasSubstr("bad value of \"hidden_size\""));
  EXPECT_THAT(fault_of(R"({"num_hidden_layers":0})"), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(fault_of(R"({"num_hidden_layers":2.5})"), HasSubstr("an integer"));
  EXPECT_THAT(fault_of(R"({"num_key_value_heads":3})"), HasSubstr("a divisor of"));
  EXPECT_THAT(fault_of(R"({"head_dim":15})"), HasSubstr("an even head_dim"));
  EXPECT_THAT(fault_of(R"({"vocab_size":-1})"), HasSubstr("vocab_size"));
  EXPECT_THAT(fault_of(R"({"vocab_size":1e300})"), HasSubstr("vocab_size"));
  EXPECT_THAT(fault_of(R"({"rms_norm_eps":-1.0})"), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(fault_of(R"({"torch_dtype":"int8"})"), HasSubstr("torch_dtype"));
  EXPECT_EQ(fault_of(R"({"is_causal":true})"), "");
  EXPECT_THAT(fault_of(R"({"is_causal":false})"), HasSubstr("looks ahead"));
  EXPECT_THAT(fault_of(R"({"eos_token_id":"</s>"})"), HasSubstr("eos_token_id"));
  EXPECT_THAT(error_of([] { ModelConfig::parse("{", "config.json"); }),
              HasSubstr("not valid JSON (config.json)"));
}

// "" up to the border, and the key beyond it.
TEST(ModelConfig, sizes_have_borders) {
  const auto expect_border = [](const std::string& key, std::int64_t last, std::int64_t beyond) {
    const auto fault = [&](std::int64_t value) {
      return fault_of("{\"" + key + "\":" + std::to_string(value) + "}");
    };
    EXPECT_EQ(fault(last), "") << key;
    EXPECT_THAT(fault(beyond), HasSubstr(key));
  };
  for (const char* key : {"hidden_size", "intermediate_size"}) {
    expect_border(key, 1 << 20, (1 << 20) + 1);
  }
  expect_border("intermediate_size", 1, 0);
  expect_border("num_hidden_layers", 1 << 14, (1 << 14) + 1);
  expect_border("num_hidden_layers", 1, 0);
  expect_border("num_attention_heads", 2, 0);
  expect_border("num_key_value_heads", 1, 0);
  expect_border("head_dim", 1 << 14, (1 << 14) + 1);
  expect_border("head_dim", 2, 1);
  expect_border("vocab_size", 1, 0);
  expect_border("max_position_embeddings", 1, 0);
  EXPECT_EQ(fault_of(R"({"rms_norm_eps":0})"), "");
}

TEST(ModelConfig, every_layer_has_a_type_or_none_has) {
  for (const char* types : {R"(["sliding_attention","sliding_attention"])", "[]"})
    EXPECT_THAT(error_of([&] {
                  parse("MistralForCausalLM", std::string(R"({"layer_types":)") + types + "}");
                }),
                HasSubstr("3 entries"));
}

// What the list says is computed for none of these families.
TEST(ModelConfig, families_that_slide_in_all_layers_refuse_to_be_told_otherwise) {
  const auto settings = [](const char* types) {
    return R"({"sliding_window":8,"use_sliding_window":true,"rope_parameters":{"rope_theta":1e4},
        "layer_types":)" +
           std::string(types) + "}";
  };
  constexpr const char* kMixed = R"(["sliding_attention","full_attention","sliding_attention"])";
  constexpr const char* kAll = R"(["sliding_attention","sliding_attention","sliding_attention"])";
  for (const char* family :
       {"Phi3ForCausalLM", "MixtralForCausalLM", "Ministral3ForCausalLM", "Qwen3MoeForCausalLM"}) {
    EXPECT_THAT(error_of([&] { parse(family, settings(kMixed)); }), HasSubstr("\"layer_types\""))
        << family;
    EXPECT_THAT(parse(family, settings(kAll)).layer_window, ElementsAre(8, 8, 8)) << family;
  }
  EXPECT_THAT(parse("MistralForCausalLM", settings(kMixed)).layer_window, ElementsAre(8, 0, 8));
  const auto nested = [&](const char* types) {
    return ModelConfig::parse(
        R"({"architectures":["Mistral3ForConditionalGeneration"],"text_config":)" +
            config_text("", settings(types)) + "}",
        "config.json");
  };
  EXPECT_THAT(error_of([&] { nested(kMixed); }), HasSubstr("\"layer_types\""));
  EXPECT_THAT(nested(kAll).layer_window, ElementsAre(8, 8, 8));
}

TEST(RopeConfig, both_styles_say_the_same) {
  const ModelConfig old_style =
      parse("LlamaForCausalLM",
            R"({"rope_theta":500000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,
          "low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192}})");
  const ModelConfig new_style =
      parse("LlamaForCausalLM",
            R"({"rope_parameters":{"rope_type":"llama3","rope_theta":500000.0,"factor":8.0,
          "low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192}})");
  for (const ModelConfig& config : {old_style, new_style}) {
    EXPECT_EQ(config.rope.kind, RopeScaling::Kind::kLlama3);
    EXPECT_EQ(config.rope_theta, 500000.0);
    EXPECT_EQ(config.rope.factor, 8.0);
    EXPECT_EQ(config.rope.original_max_position, 8192);
  }
  EXPECT_EQ(parse("LlamaForCausalLM",
                  R"({"rope_parameters":{"rope_type":"linear","factor":2},"rope_scaling":{}})")
                .rope.kind,
            RopeScaling::Kind::kLinear);
  EXPECT_EQ(parse("LlamaForCausalLM", R"({"rope_scaling":{"type":"linear","factor":2}})").rope.kind,
            RopeScaling::Kind::kLinear);
}

TEST(RopeConfig, a_scaling_stands_for_all_rotary_settings) {
  const auto with = [](const std::string& scaling) {
    return R"({"rope_parameters":{"rope_type":"default","rope_theta":7e5},"rope_theta":3.0,
          "rope_scaling":{"rope_type":"linear","factor":2)" +
           scaling + "}}";
  };
  const ModelConfig both = parse("LlamaForCausalLM", with(R"(,"rope_theta":7e4)"));
  EXPECT_EQ(both.rope.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(both.rope_theta, 7e4);
  EXPECT_THAT(fault_of(with("")), HasSubstr("\"rope_theta\" (config.json, rope_scaling): expected "
                                            "one beside the scaling (that of rope_parameters"));
  constexpr const char* kSame = R"({"rope_parameters":{"rope_theta":7e5},"rope_theta":7e5,
      "rope_scaling":{"rope_type":"linear","factor":2}})";
  EXPECT_EQ(parse("LlamaForCausalLM", kSame).rope_theta, 7e5);
}

TEST(RopeConfig, a_scaling_that_an_override_names_leaves_the_rest_as_it_is) {
  const std::string file = config_text("Phi3ForCausalLM",
                                       R"({"rope_parameters":{"rope_type":"default",
      "rope_theta":7e5,"partial_rotary_factor":0.5}})");
  const auto overridden = [&](const char* scaling) {
    return ModelConfig::parse(file, "config.json",
                              "{\"rope_scaling\":" + std::string(scaling) + "}");
  };
  const ModelConfig scaled = overridden(R"({"rope_type":"linear","factor":2})");
  EXPECT_EQ(scaled.rope.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(scaled.rope_theta, 7e5);
  EXPECT_EQ(scaled.rotated(), 8);
  EXPECT_EQ(overridden(R"({"rope_theta":9e5})").rope_theta, 9e5);
  for (const char* nothing : {"null", "{}"}) EXPECT_EQ(overridden(nothing).rope_theta, 7e5);
}

TEST(RopeConfig, the_share_of_a_head_is_read_where_the_settings_are) {
  const auto rotated = [](const char* family, const std::string& settings) {
    return parse(family, settings).rotated();
  };
  const std::string scaling = R"({"rope_scaling":{"rope_type":"linear","factor":2,
      "partial_rotary_factor":1.0}})";
  for (const char* family : {"Glm4ForCausalLM", "Glm4MoeForCausalLM", "Qwen3NextForCausalLM",
                             "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"})
    EXPECT_EQ(rotated(family, scaling), parse(family).head_dim) << family;
  constexpr const char* kBoth = R"({"partial_rotary_factor":1.0,
      "rope_parameters":{"partial_rotary_factor":0.25}})";
  EXPECT_EQ(rotated("Glm4ForCausalLM", kBoth), 32) << "what stands in the settings has priority";
  EXPECT_EQ(rotated("Phi3ForCausalLM", kBoth), 4);
  EXPECT_EQ(rotated("Glm4ForCausalLM", R"({"rope_parameters":{"partial_rotary_factor":0.25},
      "rope_scaling":{"rope_type":"linear","factor":2}})"),
            64)
      << "those that are replaced say nothing";
  EXPECT_THAT(
      error_of([] { parse("Glm4ForCausalLM", R"({"rope_scaling":{"partial_rotary_factor":0}})"); }),
      HasSubstr("\"partial_rotary_factor\" (config.json, rope_scaling): expected a share"));
}

TEST(RopeConfig, the_original_length_beside_the_settings_has_priority) {
  const ModelConfig config =
      parse("LlamaForCausalLM",
            R"({"original_max_position_embeddings":4096,"rope_scaling":{"type":"yarn","factor":2.0,
                "original_max_position_embeddings":1024}})");
  EXPECT_EQ(config.rope.original_max_position, 4096);
}

TEST(RopeConfig, bad_settings_are_refused_by_name) {
  auto scaling_fault = [](const std::string& rope) {
    return fault_of("{\"rope_scaling\":" + rope + "}");
  };
  EXPECT_THAT(scaling_fault(R"({"rope_type":"spiral","factor":2})"),
              HasSubstr("bad value of \"rope_type\" (config.json, rope_scaling)"));
  EXPECT_THAT(scaling_fault(R"({"type":"mrope"})"), HasSubstr("\"mrope_section\""));
  EXPECT_THAT(scaling_fault(R"({"rope_type":"linear"})"), HasSubstr("missing key \"factor\""));
  EXPECT_THAT(scaling_fault(R"({"rope_type":"linear","factor":0.5})"),
              HasSubstr("a number from 1 to 1e6, found 5E-1"));
  EXPECT_THAT(scaling_fault(R"({"rope_type":"llama3","factor":8})"),
              HasSubstr("missing key \"low_freq_factor\""));
  EXPECT_THAT(scaling_fault(R"({"rope_type":"longrope","short_factor":[1,1],"long_factor":[1,1]})"),
              HasSubstr("8 numbers (half of head_dim)"));
  EXPECT_THAT(scaling_fault(R"({"mrope_section":[1,2,3]})"), HasSubstr("mrope_section"));
  EXPECT_THAT(scaling_fault(R"({"full_attention":{"rope_type":"default"}})"),
              HasSubstr("one set of rotary settings"));
  EXPECT_THAT(scaling_fault("7"), HasSubstr("\"rope_scaling\""));
  EXPECT_THAT(fault_of(R"({"rope_theta":0})"), HasSubstr("rope_theta"));
  EXPECT_THAT(fault_of(R"({"rope_parameters":{"partial_rotary_factor":0.5}})"),
              HasSubstr("partial_rotary_factor"));
}

// Every single value replaced by every kind of JSON: an Error or a config, never a crash.
TEST(ModelConfig, odd_values_never_crash) {
  const std::string text = config_text(
      "Qwen3ForCausalLM",
      R"({"rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32,
          "attention_factor":1.0,"beta_fast":32},"eos_token_id":[1,2],"rms_norm_eps":1e-6,
          "max_position_embeddings":128,"sliding_window":4,"use_sliding_window":true,
          "layer_types":["full_attention","full_attention","full_attention"],"dtype":"float32"})");
  const char* kOdd[] = {"null",
                        "true",
                        "-1",
                        "0",
                        "1e308",
                        "-0.5",
                        "9223372036854775807",
                        "18446744073709551615",
                        "\"x\"",
                        "[]",
                        "[[1]]",
                        "{}",
                        "{\"a\":{}}"};
  const boost::json::object good = boost::json::parse(text).as_object();
  int tried = 0;
  auto try_config = [&](const boost::json::object& object) {
    error_of([&] { ModelConfig::parse(boost::json::serialize(object), "config.json"); });
    ++tried;
  };
  for (const char* odd : kOdd) {
    for (const auto& [key, value] : good) {
      boost::json::object changed = good;
      changed[key] = boost::json::parse(odd);
      try_config(changed);
    }
    for (const auto& [key, value] : good.at("rope_scaling").as_object()) {
      boost::json::object changed = good;
      changed["rope_scaling"].as_object()[key] = boost::json::parse(odd);
      try_config(changed);
    }
  }
  EXPECT_GT(tried, 200);
}

}  // namespace
}  // namespace foretoken::model_config_test
