#include "model/stored_quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "model/test_files.h"

namespace foretoken {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Kind = StoredQuantization::Kind;

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

TEST(StoredQuantization, every_method_is_understood) {
  const auto awq = parse(R"({"quant_method":"awq","w_bit":4,"q_group_size":64,"zero_point":true,
                             "version":"gemm","modules_to_not_convert":["lm_head"]})");
  EXPECT_EQ(awq.kind, Kind::kAwq);
  EXPECT_EQ(awq.group, 64);
  EXPECT_FALSE(awq.is_symmetric);
  EXPECT_TRUE(awq.leaves_out("lm_head"));

  const auto gptq = parse(R"({"quant_method":"gptq","bits":8,"group_size":-1,"desc_act":true})");
  EXPECT_EQ(gptq.kind, Kind::kGptq);
  EXPECT_EQ(gptq.bits, 8);
  EXPECT_EQ(gptq.group, 0);
  EXPECT_TRUE(gptq.has_g_idx && gptq.zeros_are_less_one);

  const auto packed = parse(compressed(R"("num_bits":4,"strategy":"group","group_size":128)"));
  EXPECT_EQ(packed.kind, Kind::kPacked);
  EXPECT_EQ(packed.group, 128);
  EXPECT_FALSE(packed.rounds_input);

  const auto int8 = parse(compressed(R"("num_bits":8,"strategy":"channel")", "", "int-quantized",
                                     R"(,"input_activations":{"num_bits":8,"dynamic":true,
                                          "strategy":"token","symmetric":true})"));
  EXPECT_EQ(int8.kind, Kind::kInt8);
  EXPECT_TRUE(int8.rounds_input);

  const auto blocks = parse(R"({"quant_method":"fp8","weight_block_size":[128,128]})");
  EXPECT_EQ(blocks.kind, Kind::kFp8);
  EXPECT_EQ(blocks.block_rows, 128);
  EXPECT_TRUE(parse(R"({"quant_method":"w8a8_int8"})").rounds_input);
}

TEST(StoredQuantization, each_way_to_write_a_format_is_the_same) {
  const auto gptq = [](const std::string& more) {
    return parse(R"({"quant_method":"gptq","bits":4)" + more + "}");
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
  EXPECT_EQ(parse(R"({"quant_method":"awq","bits":4,"format":"GEMM","backend":"autoawq"})"),
            parse(R"({"quant_method":"awq","bits":4,"version":"gemm"})"));

  const std::string grouped = R"("num_bits":4,"strategy":"group","group_size":128,"actorder":)";
  for (const char* order : {R"("group")", R"("dynamic")", "true"})
    EXPECT_TRUE(parse(compressed(grouped + order)).has_g_idx) << order;
  for (const char* order : {R"("weight")", R"("static")", "false", "null"})
    EXPECT_FALSE(parse(compressed(grouped + order)).has_g_idx) << order;
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
      {R"({"quant_method":"gptq","bits":4,"dynamic":{"+:x":{"bits":8}}})", "dynamic"},
      {R"({"quant_method":"awq","bits":8})", "8"},
      {R"({"quant_method":"awq","bits":4,"version":"gemv"})", "gemv"},
      {R"({"quant_method":"awq","bits":4,"format":"gemv_fast"})", "gemv_fast"},
      {R"({"quant_method":"awq","bits":4,"backend":"llm-awq"})", "llm-awq"},
      {R"({"quant_method":"awq","bits":4,"zero_point":false})", "zero_point"},
      {R"({"quant_method":"fp8","fmt":"e5m2"})", "e5m2"},
      {R"({"quant_method":"fp8","weight_block_size":[128]})", "weight_block_size"},
      {R"({"quant_method":"compressed-tensors"})", "config_groups"},
      {R"({"quant_method":"compressed-tensors","config_groups":{}})", "at least one group"},
      {R"({"quant_method":"compressed-tensors","config_groups":{"a":{}}})", "weights"},
      {R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":
           {"a":{"weights":{"num_bits":4}},"b":{"weights":{"num_bits":8}}}})",
       "2 groups"},
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
                  R"(,"input_activations":{"num_bits":8,"dynamic":false})"),
       "dynamic"},
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
