#include "model/decoder/load.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/file.h"
#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/weight_reader.h"
#include "model/runner.h"
#include "model/testing/whole_logits.h"

namespace foretoken {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kConfig = R"({"architectures":["LlamaForCausalLM"],"hidden_size":32,
    "intermediate_size":48,"num_hidden_layers":1,"num_attention_heads":2,"vocab_size":50,
    "max_position_embeddings":64,"attention_bias":true,"torch_dtype":"float32"})";

std::vector<TestTensor> model_tensors(std::int64_t width = 32, std::int64_t vocab = 50) {
  const std::string layer = "model.layers.0.";
  std::vector<TestTensor> tensors = {
      test_tensor("model.embed_tokens.weight", {vocab, width}),
      test_tensor(layer + "input_layernorm.weight", {width}),
      test_tensor(layer + "post_attention_layernorm.weight", {width}),
      test_tensor(layer + "mlp.gate_proj.weight", {48, width}),
      test_tensor(layer + "mlp.up_proj.weight", {48, width}),
      test_tensor(layer + "mlp.down_proj.weight", {width, 48}),
      test_tensor("model.norm.weight", {width}),
      test_tensor("lm_head.weight", {vocab, width}),
  };
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    tensors.push_back(test_tensor(layer + "self_attn." + name + ".weight", {width, width}));
    tensors.push_back(test_tensor(layer + "self_attn." + name + ".bias", {width}));
  }
  return tensors;
}

class Load : public testing::Test {
 protected:
  Load() { write(model_tensors()); }

  void write(const std::vector<TestTensor>& tensors) {
    folder_.write("config.json", kConfig);
    folder_.write("model.safetensors", safetensors_bytes(tensors));
  }
  std::unique_ptr<Decoder> load(ModelOptions options = {}) {
    options.show_progress = false;
    return load_model(*ops_, folder_.path(), options);
  }
  // What loading prints.
  std::string log_of(const ModelOptions& options = {}) {
    testing::internal::CaptureStderr();
    load(options);
    return testing::internal::GetCapturedStderr();
  }

  TestFolder folder_;
  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, pool_);
};

TEST_F(Load, logs_begin_and_end_as_sglang_does) {
  const std::string log =
      log_of({.dtype = "float16", .available_memory_bytes = [] { return std::size_t{3} << 30; }});
  EXPECT_THAT(log, HasSubstr("Load weight begin. avail mem=3.00 GB"));
  EXPECT_THAT(log, HasSubstr("Load weight end. type=LlamaForCausalLM, dtype=float16, avail "
                             "mem=3.00 GB, mem usage=0.00 GB."));
}

TEST_F(Load, advises_on_a_heavy_output_matrix_beside_codes) {
  const auto* const advice = "--quantization-head";
  EXPECT_THAT(log_of(), Not(HasSubstr(advice)));
  const std::string config = kConfig;
  folder_.write("config.json", config.substr(0, config.size() - 1) +
                                   R"(,"quantization_config":{"quant_method":"fp8"}})");
  EXPECT_THAT(log_of(), HasSubstr(advice));
  ModelOptions options;
  options.quantization = with_head({}, "unquant", false, "test");
  EXPECT_THAT(log_of(options), Not(HasSubstr(advice)));
  options.quantization = with_head({}, "w8a16", false, "test");
  EXPECT_THAT(log_of(options), Not(HasSubstr(advice)));
}

TEST_F(Load, advises_on_no_output_matrix_that_is_of_codes) {
  constexpr std::int64_t kWidth = 64, kVocab = 200;
  std::string config = kConfig;
  config.replace(config.find(":32"), 3, ":64");
  config.replace(config.find(":50"), 3, ":200");
  config.replace(config.size() - 1, 1, R"(,"quantization_config":{"quant_method":"w8a8_int8"}})");
  folder_.write("config.json", config);
  auto tensors = model_tensors(kWidth, kVocab);
  ops_ = make_backend({.device = "cpu"}, pool_);  // keeps codes
  folder_.write("model.safetensors", safetensors_bytes(tensors));
  EXPECT_THAT(log_of(), HasSubstr("--quantization-head"));
  TestTensor& head = *std::ranges::find(tensors, "lm_head.weight", &TestTensor::name);
  head = {head.name, "I8", {kVocab, kWidth}, std::string(kVocab * kWidth, '\1')};
  tensors.push_back(test_tensor("lm_head.weight_scale", {kVocab, 1}));
  folder_.write("model.safetensors", safetensors_bytes(tensors));
  EXPECT_THAT(log_of(), Not(HasSubstr("--quantization-head")));
}

TEST_F(Load, a_checkpoint_is_quantized_as_was_said_or_refused) {
  const auto fault = [&](const char* asked, const char* part = "target") {
    ModelOptions options;
    options.part = part;
    options.quantization = quantization_named(asked, false, "test");
    return error_of([&] { load(options); });
  };
  EXPECT_THAT(fault("gptq"), HasSubstr("not quantized as --quantization says"));
  EXPECT_THAT(fault("gguf", "draft"),
              HasSubstr("not quantized as --speculative-draft-model-quantization says"));
  const std::string config = kConfig;
  folder_.write("config.json", config.substr(0, config.size() - 1) +
                                   R"(,"quantization_config":{"quant_method":"gptq","bits":4}})");
  EXPECT_EQ(fault("gptq_marlin"), "");
  EXPECT_THAT(fault("awq"), AllOf(HasSubstr("awq"), HasSubstr("gptq")));
}

TEST_F(Load, advises_on_input_that_codes_keep) {
  const auto log_with = [&](const std::string& quantization, std::string_view asked = "") {
    const std::string config = kConfig;
    folder_.write("config.json", config.substr(0, config.size() - 1) +
                                     R"(,"quantization_config":)" + quantization + "}");
    ModelOptions options;
    options.quantization = quantization_named(asked, false, "test");
    return log_of(options);
  };
  const auto* const gptq = R"({"quant_method":"gptq","bits":4})";
  EXPECT_THAT(log_with(gptq), HasSubstr("--quantization w4a8 "));
  EXPECT_THAT(log_with(gptq, "w4a8"), Not(HasSubstr("keeps the codes")));
  EXPECT_THAT(log_with(R"({"quant_method":"gptq","bits":8})"),
              HasSubstr("--quantization w8a8_int8 "));
  for (const char* other : {R"({"quant_method":"fp8"})", R"({"quant_method":"w8a8_int8"})",
                            R"({"quant_method":"gptq","bits":4,"dynamic":{"+:.*mlp":{"bits":8}}})"})
    EXPECT_THAT(log_with(other), Not(HasSubstr("keeps the codes"))) << other;
}

TEST_F(Load, a_file_of_model_optimizer_says_how_weights_are_quantized) {
  const auto say = [&](const std::string& quantization) {
    folder_.write("hf_quant_config.json",
                  R"({"producer":{"name":"modelopt"})" + quantization + "}");
  };
  say(R"(,"quantization":{"quant_algo":"FP8","exclude_modules":["lm_head"]})");
  EXPECT_THAT(log_of(), HasSubstr("quantization=modelopt"));
  for (const char* floats :
       {R"(,"quantization":{"quant_algo":null,"kv_cache_quant_algo":"FP8"})", ""}) {
    say(floats);
    EXPECT_THAT(log_of(), Not(HasSubstr("quantization="))) << floats;
  }
  say(R"(,"quantization":{"quant_algo":"NVFP4"})");
  EXPECT_THAT(error_of([&] { load(); }),
              AllOf(HasSubstr("NVFP4"), HasSubstr("hf_quant_config.json")));
  folder_.write("hf_quant_config.json", "[]");
  EXPECT_THAT(error_of([&] { load(); }), HasSubstr("hf_quant_config.json"));
  const std::string config = kConfig;  // which says it itself
  folder_.write("config.json", config.substr(0, config.size() - 1) +
                                   R"(,"quantization_config":{"quant_method":"fp8"}})");
  EXPECT_THAT(log_of(), HasSubstr("quantization=fp8"));
}

TEST_F(Load, auto_serves_float32_checkpoints_as_bfloat16_and_says_so) {
  EXPECT_EQ(load()->kv_shape().dtype, DType::kBF16);
  EXPECT_THAT(log_of(), HasSubstr("serves it as bfloat16"));
  EXPECT_EQ(load({.dtype = "float"})->kv_shape().dtype, DType::kF32);
  EXPECT_EQ(load({.dtype = "half"})->dtype(), DType::kF16);
}

TEST_F(Load, auto_serves_what_the_config_says_where_it_is_of_16_bits) {
  for (const auto& [name, dtype] :
       {std::pair{"float16", DType::kF16}, {"bfloat16", DType::kBF16}}) {
    const ModelOptions options{.config_overrides =
                                   R"({"torch_dtype":")" + std::string(name) + R"("})"};
    EXPECT_EQ(load(options)->dtype(), dtype);
    EXPECT_THAT(log_of(options), Not(HasSubstr("serves it as"))) << name;
  }
}

TEST_F(Load, the_dtype_shows_in_the_weights_where_the_config_is_silent) {
  ModelOptions options{.config_overrides = R"({"torch_dtype":null})"};
  EXPECT_THAT(log_of(options), HasSubstr("stored as float32"));
}

TEST_F(Load, a_missing_weight_is_named) {
  auto tensors = model_tensors();
  std::erase_if(tensors, [](const TestTensor& t) { return t.name == "lm_head.weight"; });
  write(tensors);
  EXPECT_THAT(error_of([&] { load(); }),
              HasSubstr("missing weight (" + folder_.path() + ", tensor lm_head.weight)"));
  load({.config_overrides = R"({"tie_word_embeddings":true})"});
}

TEST_F(Load, a_misshapen_weight_is_named) {
  EXPECT_THAT(error_of([&] { load({.config_overrides = R"({"intermediate_size":40})"}); }),
              HasSubstr("weight has the wrong shape (" + folder_.path() +
                        ", tensor model.layers.0.mlp.gate_proj.weight): expected [40, 32], found "
                        "[48, 32]"));
}

TEST_F(Load, integer_weights_are_refused) {
  auto tensors = model_tensors();
  tensors.back().dtype = "I32";
  write(tensors);
  EXPECT_THAT(error_of([&] { load(); }), HasSubstr("weight has the wrong dtype"));
}

TEST_F(Load, unknown_tensors_are_warned_about_once_and_derived_buffers_are_not) {
  EXPECT_THAT(log_of(), Not(HasSubstr("not used")));
  auto tensors = model_tensors();
  tensors.push_back(test_tensor("model.layers.0.self_attn.rotary_emb.inv_freq", {8}));
  write(tensors);
  EXPECT_THAT(log_of(), Not(HasSubstr("not used")));
  tensors.push_back(test_tensor("model.layers.1.extra.weight", {8}));
  write(tensors);
  EXPECT_THAT(log_of(), HasSubstr("WARNING: 1 tensors of the checkpoint are not used by this "
                                  "model: model.layers.1.extra.weight"));
}

TEST_F(Load, tensors_that_others_read_are_left_to_them) {
  auto tensors = model_tensors();
  tensors.push_back(test_tensor("mtp.fc.weight", {8}));
  write(tensors);
  EXPECT_THAT(log_of(), HasSubstr("not used by this model: mtp.fc.weight"));
  ModelOptions options;
  options.others = [](const std::vector<std::string>&, const ModelConfig&) {
    return std::vector<std::string>{"mtp."};
  };
  EXPECT_THAT(log_of(options), Not(HasSubstr("not used")));
}

TEST_F(Load, tensors_of_types_that_nobody_knows_matter_only_where_they_are_needed) {
  auto tensors = model_tensors();
  tensors.push_back({"model.layers.1.extra", "F8_E8M0", {3}, "abc"});
  write(tensors);
  EXPECT_THAT(log_of(), HasSubstr("not used by this model: model.layers.1.extra"));
  tensors.front().dtype = "U32";
  write(tensors);
  EXPECT_THAT(error_of([&] { load(); }),
              HasSubstr("tensor is of a type that is not supported (" + folder_.path() +
                        "/model.safetensors, tensor model.embed_tokens.weight)"));
  EXPECT_THAT(error_of([&] { load(); }), HasSubstr("found U32"));
}

TEST_F(Load, a_stored_head_of_a_tied_model_is_not_unknown) {
  EXPECT_THAT(log_of({.config_overrides = R"({"tie_word_embeddings":true})"}),
              Not(HasSubstr("not used")));
}

// The matrix of the tokens has both names or one; under both it may be another.
TEST_F(Load, a_tied_model_is_one_matrix_unless_the_checkpoint_has_two) {
  const ModelOptions tied{.config_overrides = R"({"tie_word_embeddings":true})"};
  const std::string head = "lm_head.weight", embedding = "model.embed_tokens.weight";
  const auto without = [](const std::string& name) {
    auto tensors = model_tensors();
    std::erase_if(tensors, [&](const TestTensor& t) { return t.name == name; });
    return tensors;
  };
  write(without(head));
  const auto one = load(tied)->weight_bytes();
  write(without(embedding));
  EXPECT_EQ(load(tied)->weight_bytes(), one);
  write(model_tensors());
  EXPECT_EQ(load(tied)->weight_bytes(), one) << "they are alike";
  auto tensors = without(head);
  tensors.push_back(test_tensor(head, {50, 32}));
  tensors.back().bytes.back() ^= 1;
  write(tensors);
  EXPECT_GT(load(tied)->weight_bytes(), one);
  EXPECT_THAT(log_of(tied), HasSubstr("another matrix than the embedding"));
}

TEST_F(Load, every_shard_is_reported_done) {
  testing::internal::CaptureStderr();
  load_model(*ops_, folder_.path(), {});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("100% Completed | 1/1"));
  // Also where packed matrices are kept beside it.
  const TestFolder cache;
  testing::internal::CaptureStderr();
  load_model(*ops_, folder_.path(), {.packed_cache = cache.path()});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("100% Completed | 1/1"));
}

TEST_F(Load, nothing_of_the_checkpoint_stays_mapped) {
  const auto decoder = load();
  const std::string mappings = *read_file("/proc/self/maps");
  EXPECT_THAT(mappings, Not(HasSubstr(folder_.path())));
  EXPECT_THAT(mappings, HasSubstr("model_tests"));  // it is the list that was meant
}

TEST_F(Load, vectors_are_rounded_to_what_is_served) {
  folder_.write("model.safetensors", safetensors_bytes({test_tensor("v", {300})}));
  const auto source = open_checkpoint(folder_.path(), "safetensors", false);
  WeightReader exact(*ops_, *source, DType::kF32), rounded(*ops_, *source, DType::kBF16);
  EXPECT_EQ(exact.vector("v", 300).f32()[257], 257 / 8.0F);
  EXPECT_EQ(rounded.vector("v", 300).f32()[257], 256 / 8.0F);  // of eight bits
}

TEST_F(Load, bad_options_and_folders_are_refused) {
  EXPECT_THAT(error_of([&] { load({.dtype = "int8"}); }), HasSubstr("--dtype"));
  EXPECT_THAT(error_of([&] { load({.load_format = "npz"}); }),
              HasSubstr("unknown load format (--load-format): expected auto, safetensors, pt, gguf "
                        "or dummy"));
  EXPECT_THAT(error_of([&] { load({.load_format = "gguf"}); }), HasSubstr("found no GGUF file"));
  EXPECT_THAT(error_of([&] { load({.context_length = 65}); }), HasSubstr("context_length (65)"));
  EXPECT_THAT(error_of([&] { load_model(*ops_, folder_.path() + "/none", {}); }),
              HasSubstr("no such model"));
  const TestFolder empty;
  EXPECT_THAT(error_of([&] { load_model(*ops_, empty.path(), {}); }),
              HasSubstr("has no config.json"));
  empty.write("model.gguf", "GGUF");
  EXPECT_THAT(error_of([&] { load_model(*ops_, empty.path() + "/model.gguf", {}); }),
              HasSubstr("the download is not complete"));
}

TEST_F(Load, dummy_weights_give_lively_logits) {
  const auto decoder = load(
      {.load_format = "dummy", .config_overrides = R"({"num_hidden_layers":12,"vocab_size":500})"});
  Runner runner(*ops_, *decoder, 1);
  const std::vector<Token> tokens{3, 1, 4, 1, 5, 9, 2, 6};
  const Tensor logits = text_logits(*ops_, runner, tokens);
  std::set<std::int64_t> winners;
  for (std::int64_t row = 0; row < logits.dim(0); ++row) {
    const float* values = logits.row_f32(row);
    double squares = 0.0;
    for (std::int64_t i = 0; i < 500; ++i) {
      ASSERT_TRUE(std::isfinite(values[i]));
      squares += double{values[i]} * values[i];
    }
    EXPECT_GT(std::sqrt(squares / 500.0), 0.3);
    EXPECT_LT(std::sqrt(squares / 500.0), 3.0);
    winners.insert(std::max_element(values, values + 500) - values);
  }
  EXPECT_GT(winners.size(), 2U);
}

TEST_F(Load, no_wanted_rows_give_no_logits) {
  const auto decoder = load();
  Runner runner(*ops_, *decoder, 1);
  EXPECT_EQ(runner.logits({}, Batch{}).dim(0), 0);
  EXPECT_EQ(runner.vocab(), 50);
}

}  // namespace
}  // namespace foretoken
