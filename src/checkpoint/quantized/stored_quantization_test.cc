#include "checkpoint/quantized/stored_quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using FormatKind = StoredFormat::Kind;

StoredQuantization parse(const std::string& json) {
  return StoredQuantization::parse(boost::json::parse(json).as_object(), "config.json");
}
std::string fault_of(const std::string& json) {
  return error_of([&] { parse(json); });
}

std::string compressed(const std::string& weights, const std::string& more = "",
                       const std::string& format = "pack-quantized",
                       const std::string& group = "") {
  return R"({"quant_method":"compressed-tensors","format":")" + format +
         R"(","config_groups":{"group_0":{"targets":["Linear"],"weights":{)" + weights + "}" +
         group + "}}" + more + "}";
}

// The format of most matrices.
StoredFormat usual(const std::string& json) { return parse(json).usual.value(); }

TEST(StoredQuantization, every_method_is_understood) {
  const auto awq = parse(R"({"quant_method":"awq","w_bit":4,"q_group_size":64,"zero_point":true,
                             "version":"gemm","modules_to_not_convert":["lm_head"]})");
  EXPECT_EQ(awq.usual,
            (StoredFormat{.kind = FormatKind::kAwq, .group = 64, .is_symmetric = false}));
  EXPECT_TRUE(awq.leaves_out("lm_head"));
  EXPECT_EQ(awq.format_of("lm_head"), nullptr);

  const StoredFormat gptq{.kind = FormatKind::kGptq,
                          .bits = 8,
                          .is_symmetric = false,
                          .has_g_idx = true,
                          .zeros_are_less_one = true};
  EXPECT_EQ(usual(R"({"quant_method":"gptq","bits":8,"group_size":-1,"desc_act":true})"), gptq);

  EXPECT_EQ(usual(compressed(R"("num_bits":4,"strategy":"group","group_size":128)")),
            (StoredFormat{.kind = FormatKind::kPacked, .group = 128}));

  const StoredFormat int8{.kind = FormatKind::kInt8, .bits = 8, .rounds_input = true};
  for (const char* input :
       {R"("dynamic":true,"strategy":"token")", R"("dynamic":false,"strategy":"tensor")"})
    EXPECT_EQ(
        usual(compressed(
            R"("num_bits":8,"strategy":"channel")", "", "int-quantized",
            std::string(R"(,"input_activations":{"num_bits":8,"symmetric":true,)") + input + "}")),
        int8)
        << input;
  EXPECT_EQ(usual(R"({"quant_method":"w8a8_int8"})"), int8);

  EXPECT_EQ(
      usual(R"({"quant_method":"fp8","weight_block_size":[128,64]})"),
      (StoredFormat{.kind = FormatKind::kFp8, .bits = 8, .block_rows = 128, .block_columns = 64}));
  const StoredFormat fp8{.kind = FormatKind::kFp8, .bits = 8};
  for (const char* more :
       {R"("fp8","activation_scheme":"static")", R"("fbgemm_fp8","activation_scale_ub":1200.0)",
        R"("modelopt","quant_algo":"FP8","ignore":["lm_head"],"kv_cache_scheme":{"num_bits":8})",
        R"("modelopt","quantization":{"quant_algo":"FP8_PER_CHANNEL_PER_TOKEN"})"})
    EXPECT_EQ(usual(std::string(R"({"quant_method":)") + more + "}"), fp8) << more;
}

TEST(StoredQuantization, auto_round_packs_as_others_do) {
  const auto said = [](const std::string& more) {
    return parse(R"({"quant_method":"auto-round","bits":4,"group_size":64,"sym":true)" + more +
                 "}");
  };
  const auto gptq = usual(R"({"quant_method":"gptq","bits":4,"group_size":64})"),
             awq = usual(R"({"quant_method":"awq","bits":4,"group_size":64})");
  EXPECT_EQ(said("").usual, gptq);
  EXPECT_EQ(said(R"(,"packing_format":"auto_round:auto_gptq","data_type":"int")").usual, gptq);
  EXPECT_EQ(said(R"(,"packing_format":"auto_round:auto_awq")").usual, awq);
  const auto mixed = said(R"(,"extra_config":{"lm_head":{"bits":16,"data_type":"float"},
      "model.layers.1.mlp.up_proj":{"bits":8,"group_size":-1},".*v_proj":{"group_size":32}})");
  ASSERT_EQ(mixed.rules.size(), 2U);
  EXPECT_EQ(*mixed.format_of("model.layers.0.mlp.up_proj"), gptq);
  EXPECT_EQ(mixed.format_of("model.layers.1.mlp.up_proj")->bits, 8);
  EXPECT_EQ(mixed.format_of("model.layers.1.mlp.up_proj")->group, 0);
  EXPECT_EQ(mixed.format_of("model.layers.3.self_attn.v_proj")->group, 32);
}

TEST(StoredQuantization, layers_may_have_a_format_of_their_own) {
  const auto gptq = parse(R"({"quant_method":"gptq","bits":4,"group_size":128,"desc_act":true,
      "dynamic":{"-:.*k_proj":{},"+:.*\\.0\\.mlp":{"bits":8,"desc_act":false},
                 ".*mlp":{"group_size":32}}})");
  const StoredFormat first = *gptq.format_of("model.layers.0.mlp.up_proj");
  EXPECT_EQ(first.bits, 8);
  EXPECT_EQ(first.group, 128);
  EXPECT_FALSE(first.has_g_idx);
  const StoredFormat second = *gptq.format_of("model.layers.10.mlp.up_proj");
  EXPECT_EQ(second.bits, 4);
  EXPECT_EQ(second.group, 32);
  EXPECT_TRUE(second.has_g_idx);
  EXPECT_EQ(*gptq.format_of("model.layers.0.self_attn.k_proj"), *gptq.usual);
  EXPECT_EQ(gptq.formats().size(), 3U);

  const auto groups = [](const std::string& first_targets, const std::string& second_targets) {
    return R"({"quant_method":"compressed-tensors","ignore":["re:.*lm_head"],"config_groups":{
        "a":{"format":"pack-quantized","weights":{"num_bits":4})" +
           first_targets +
           R"(},"b":{"format":"float-quantized","weights":{"num_bits":8,"type":"float"})" +
           second_targets + "}}}";
  };
  const auto mixed = parse(
      groups(R"(,"targets":["Linear"])", R"(,"targets":["re:.*down_proj$","model.layers.1.x"])"));
  EXPECT_EQ(mixed.format_of("model.layers.0.up_proj")->kind, FormatKind::kPacked);
  EXPECT_EQ(mixed.format_of("model.layers.0.down_proj")->kind, FormatKind::kFp8);
  EXPECT_EQ(mixed.format_of("model.layers.1.x")->kind, FormatKind::kFp8);
  EXPECT_EQ(mixed.format_of("model.layers.11.x")->kind, FormatKind::kPacked);
  EXPECT_EQ(mixed.format_of("lm_head"), nullptr);
  const auto named = parse(groups(R"(,"targets":["x"])", R"(,"targets":["re:y"])"));
  EXPECT_EQ(named.format_of("z"), nullptr);
  EXPECT_THAT(fault_of(groups("", R"(,"targets":["Linear"])")), HasSubstr("targets"));
  EXPECT_THAT(fault_of(groups(R"(,"targets":["Linear"])", R"(,"targets":["linear"])")),
              HasSubstr("another format for the same layers"));
}

TEST(StoredQuantization, each_way_to_write_a_format_is_the_same) {
  const auto gptq = [](const std::string& more) {
    return usual(R"({"quant_method":"gptq","bits":4)" + more + "}");
  };
  EXPECT_TRUE(gptq("").zeros_are_less_one);
  for (const char* key : {"format", "checkpoint_format"}) {
    const std::string named = std::string(",\"") + key + "\":";
    EXPECT_TRUE(gptq(named + R"("GPTQ")").zeros_are_less_one) << key;
    EXPECT_FALSE(gptq(named + R"("gptq_v2")").zeros_are_less_one) << key;
  }
  EXPECT_EQ(gptq(R"(,"format":"gptq_v2","checkpoint_format":"gptq_v2")"),
            gptq(R"(,"format":"gptq_v2","checkpoint_format":null)"));
  EXPECT_EQ(gptq(R"(,"dynamic":{"-:.*lm_head":{}})"), gptq(R"(,"dynamic":{})"));
  EXPECT_EQ(usual(R"({"quant_method":"awq","bits":4,"format":"GEMM","backend":"autoawq"})"),
            usual(R"({"quant_method":"awq","bits":4,"version":"gemm"})"));

  const std::string grouped = R"("num_bits":4,"strategy":"group","group_size":128,"actorder":)";
  for (const char* order : {R"("group")", R"("dynamic")", "true"})
    EXPECT_TRUE(usual(compressed(grouped + order)).has_g_idx) << order;
  for (const char* order : {R"("weight")", R"("static")", "false", "null"})
    EXPECT_FALSE(usual(compressed(grouped + order)).has_g_idx) << order;
}

// Which layers they are of, tensors tell; KV has scales of its own; rotations are in the weights.
TEST(StoredQuantization, what_changes_nothing_is_no_fault) {
  const auto plain = parse(compressed(R"("num_bits":4)"));
  EXPECT_EQ(parse(R"({"quant_method":"compressed-tensors","format":"pack-quantized",
                      "config_groups":{"a":{"targets":["re:.*proj$"],"weights":{"num_bits":4}},
                                       "b":{"targets":["x"],"weights":{"num_bits":4}}}})"),
            plain);
  for (const char* more : {R"(,"kv_cache_scheme":{"num_bits":8,"type":"float"})",
                           R"(,"transform_config":{})", R"(,"transform_config":null)",
                           R"(,"transform_config":{"config_groups":{"R1":{"type":"hadamard","apply":
                               [{"location":"weight_input"},{"location":"weight_output"}]}}})"})
    EXPECT_EQ(parse(compressed(R"("num_bits":4)", more)), plain) << more;
}

TEST(StoredQuantization, what_cannot_be_read_is_refused_by_name) {
  const std::pair<std::string, const char*> kRefused[] = {
      {R"({})", "quant_method"},
      {R"({"quant_method":"bitsandbytes"})", "bitsandbytes"},
      {R"({"quant_method":"gptq","bits":3})", "expected 4 or 8"},
      {R"({"quant_method":"gptq","bits":4,"group_size":48})", "a multiple of 32"},
      {R"({"quant_method":"gptq","bits":4,"group_size":-7})", "group_size"},
      {R"({"quant_method":"gptq","bits":4,"checkpoint_format":"marlin"})", "marlin"},
      {R"({"quant_method":"gptq","bits":4,"format":"marlin"})", "marlin"},
      {R"({"quant_method":"gptq","bits":4,"checkpoint_format":"gptq","format":"gptq_v2"})",
       "what format says, gptq_v2"},
      {R"({"quant_method":"gptq","bits":4,"dynamic":{"+:x":{"bits":3}}})", "dynamic, +:x"},
      {R"({"quant_method":"gptq","bits":4,"dynamic":{"+:x":8}})", "dynamic"},
      {R"({"quant_method":"gptq","bits":4,"dynamic":{"+:(":{"bits":8}}})", "regular expression"},
      {R"({"quant_method":"auto-round","bits":2})", "expected 4 or 8"},
      {R"({"quant_method":"auto-round","packing_format":"auto_round:llm_compressor"})",
       "packing_format"},
      {R"({"quant_method":"auto-round","data_type":"mx_fp"})", "mx_fp"},
      {R"({"quant_method":"auto-round","packing_format":"auto_round:auto_awq","bits":8})", "8"},
      {R"({"quant_method":"auto-round","extra_config":{"a":{"bits":3}}})", "extra_config, a"},
      {R"({"quant_method":"auto-round","extra_config":{"a":3}})", "extra_config"},
      {R"({"quant_method":"modelopt","quant_algo":"NVFP4"})", "NVFP4"},
      {R"({"quant_method":"modelopt"})", "quant_algo"},
      {R"({"quant_method":"awq","bits":8})", "8"},
      {R"({"quant_method":"awq","bits":4,"version":"gemv"})", "gemv"},
      {R"({"quant_method":"awq","bits":4,"format":"gemv_fast"})", "gemv_fast"},
      {R"({"quant_method":"awq","bits":4,"backend":"llm-awq"})", "llm-awq"},
      {R"({"quant_method":"awq","bits":4,"zero_point":false})", "zero_point"},
      {R"({"quant_method":"fp8","fmt":"e5m2"})", "e5m2"},
      {R"({"quant_method":"fp8","weight_block_size":[128]})", "weight_block_size"},
      {R"({"quant_method":"fp8","weight_block_size":[65537,128]})", "weight_block_size"},
      {R"({"quant_method":"compressed-tensors"})", "config_groups"},
      {R"({"quant_method":"compressed-tensors","config_groups":{}})", "at least one group"},
      {R"({"quant_method":"compressed-tensors","config_groups":{"a":{}}})", "weights"},
      {R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":
           {"a":{"weights":{"num_bits":4}},"b":{"weights":{"num_bits":8}}}})",
       "targets"},
      {compressed(R"("num_bits":2)"), "num_bits"},
      {compressed(R"("num_bits":4,"strategy":"tensor_group")"), "tensor_group"},
      {compressed(R"("num_bits":4,"type":"float")", "", "nvfp4-pack-quantized"), "nvfp4"},
      {compressed(R"("num_bits":4,"actorder":"random")"), "random"},
      {compressed(R"("num_bits":4)", R"(,"transform_config":{"config_groups":{"R4":{
           "type":"hadamard","apply":[{"location":"weight_output"},{"location":"input"}]}}})"),
       "rotation while computing"},
      {compressed(R"("num_bits":4)", R"(,"transform_config":{"R4":{}})"), "config_groups"},
      {compressed(R"("num_bits":4)", R"(,"sparsity_config":{"format":"sparse-24-bitmask"})"),
       "sparse-24"},
      {compressed(R"("num_bits":4)", R"(,"ignore":["re:("])"), "regular expression"},
      {compressed(R"("num_bits":8)", "", "int-quantized",
                  R"(,"input_activations":{"num_bits":8,"strategy":"group"})"),
       "strategy"},
      {compressed(R"("num_bits":8)", "", "int-quantized",
                  R"(,"input_activations":{"num_bits":8,"symmetric":false})"),
       "zero points"},
      {compressed(R"("num_bits":8,"symmetric":false)", "", "int-quantized"), "symmetric"},
  };
  for (const auto& [json, found] : kRefused)
    EXPECT_THAT(fault_of(json), AllOf(HasSubstr(found), HasSubstr("config.json"))) << json;
}

TEST(StoredQuantization, names_are_left_out_part_by_part) {
  const auto stored = parse(R"({"quant_method":"fp8","ignored_layers":["lm_head",
      "layers.1.mlp","re:.*self_attn\\.o_proj"]})");
  EXPECT_TRUE(stored.leaves_out("lm_head"));
  EXPECT_TRUE(stored.leaves_out("model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(stored.leaves_out("model.layers.11.mlp.up_proj"));
  EXPECT_TRUE(stored.leaves_out("model.layers.3.self_attn.o_proj"));
  EXPECT_FALSE(stored.leaves_out("model.layers.3.self_attn.q_proj"));
}

TEST(StoredQuantization, expressions_that_take_for_ever_are_refused) {
  const auto stored =
      parse(R"({"quant_method":"fp8","ignored_layers":["re:(([a-z]+)*)*\\d(x+x+)+y"]})");
  EXPECT_FALSE(stored.leaves_out("lm_head"));
  try {
    stored.leaves_out(std::string(60, 'a'));
    FAIL();
  } catch (const Error& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("cannot be matched"));
  }
}

}  // namespace
}  // namespace foretoken
