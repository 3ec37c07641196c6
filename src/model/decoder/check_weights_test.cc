#include "model/decoder/check_weights.h"

#include <filesystem>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"
#include "model/testing/gguf_converter.h"

namespace foretoken::check_weights_test {
namespace {

using testing::HasSubstr;
using Shapes = std::map<std::string, std::vector<std::int64_t>>;

// Of a Llama as gguf_keys() describes it: heads of 16, and a vocabulary of 8.
Shapes llama_shapes() {
  Shapes shapes{{"token_embd.weight", {8, 64}}, {"output_norm.weight", {64}}};
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    for (const char* norm : {"attn_norm", "ffn_norm"})
      shapes[layer + norm + ".weight"] = std::vector<std::int64_t>{64};
    for (const char* square : {"attn_q", "attn_output"})
      shapes[layer + square + ".weight"] = {64, 64};
    for (const char* key : {"attn_k", "attn_v"}) shapes[layer + key + ".weight"] = {32, 64};
    for (const char* wide : {"ffn_gate", "ffn_up"}) shapes[layer + wide + ".weight"] = {96, 64};
    shapes[layer + "ffn_down.weight"] = {64, 96};
  }
  return shapes;
}

class CheckWeights : public testing::Test {
 protected:
  std::string fault_of(const Shapes& shapes, GgufBytes file = gguf_keys("llama")) const {
    for (const auto& [name, shape] : shapes) {
      std::int64_t elements = 1;
      for (const std::int64_t size : shape) elements *= size;
      file.floats(name, shape, std::vector<float>(static_cast<std::size_t>(elements), 1.0F));
    }
    folder_.write("m.gguf", file.bytes());
    const std::string path = folder_.path() + "/m.gguf";
    return error_of(
        [&] { check_weights(path, {.show_progress = false}, read_model_config(path, {})); });
  }

  TestFolder folder_;
};

TEST_F(CheckWeights, a_model_that_is_whole_passes) { EXPECT_EQ(fault_of(llama_shapes()), ""); }

TEST_F(CheckWeights, weights_that_are_missing_are_named) {
  for (const auto& [stored, name] :
       {std::pair{"blk.1.attn_q.weight", "model.layers.1.self_attn.q_proj.weight"},
        std::pair{"token_embd.weight", "model.embed_tokens.weight"},
        std::pair{"output_norm.weight", "model.norm.weight"}}) {
    Shapes shapes = llama_shapes();
    shapes.erase(stored);
    GgufBytes keys = gguf_keys("llama");
    EXPECT_THAT(fault_of(shapes, add_byte_level(keys, "qwen2")),
                AllOf(HasSubstr("missing weight"), HasSubstr(name)));
  }
  Shapes shapes = llama_shapes();
  std::erase_if(shapes, [](const auto& each) { return each.first.starts_with("blk.1."); });
  EXPECT_THAT(fault_of(shapes), HasSubstr("missing weight"));
}

TEST_F(CheckWeights, wrong_shapes_are_named) {
  for (const auto& [name, shape] :
       {std::pair{"blk.1.attn_k.weight", std::vector<std::int64_t>{16, 64}},
        std::pair{"blk.0.ffn_up.weight", std::vector<std::int64_t>{64, 64}},
        std::pair{"blk.0.attn_norm.weight", std::vector<std::int64_t>{32}},
        std::pair{"output_norm.weight", std::vector<std::int64_t>{60}}}) {
    Shapes shapes = llama_shapes();
    shapes[name] = shape;
    EXPECT_THAT(fault_of(shapes), HasSubstr("wrong shape")) << name;
  }
}

TEST_F(CheckWeights, keys_that_the_tensors_disagree_with_are_told) {
  const auto keys = [] { return gguf_keys("llama"); };
  EXPECT_THAT(fault_of(llama_shapes(), keys().u32("llama.attention.key_length", 32)),
              HasSubstr("wrong shape"));
  EXPECT_THAT(fault_of(llama_shapes(),
                       keys().u32("llama.expert_count", 4).u32("llama.expert_used_count", 2)),
              HasSubstr("missing weight"));
}

TEST(CheckWeightsOfFolders, every_checkpoint_that_is_served_passes) {
  const std::filesystem::path all = folder_of({.folder = ".", .architecture = ""});
  int checked = 0;
  for (const auto& folder : std::filesystem::directory_iterator(all)) {
    if (!exists(folder.path() / "config.json")) continue;
    const std::string path = folder.path().string();
    EXPECT_EQ(error_of([&] {
                check_weights(path, {.show_progress = false}, read_model_config(path, {}));
              }),
              "")
        << path;
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

}  // namespace
}  // namespace foretoken::check_weights_test
