#include "model/heads/head_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/testing/test_folder.h"
#include "base/threads.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

ModelConfig small_config() {
  ModelConfig config;
  config.architecture = "Small";
  config.layers = 1;
  config.hidden = 16;
  config.intermediate = 32;
  config.heads = config.kv_heads = 2;
  config.head_dim = 8;
  config.vocab = 20;
  config.max_position = config.context_length = 16;
  return config;
}

TEST(HeadDraft, a_first_layer_that_reads_both_inputs_cannot_be_parallel) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  const ModelConfig config = small_config();
  const Decoder target(*ops, config, *dummy_weights(1), DType::kF32);
  HeadConfig head;
  head.layer = config;
  head.layer.is_parallel = true;
  head.layer.norms.before_mlp = {};
  head.join = HeadConfig::Join::kLayer;
  try {
    const HeadDraft made(*ops, head, *dummy_weights(2), target);
    FAIL() << "it was made";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("side by side"), std::string::npos) << error.what();
  }
}

// Without it the head is refused, and the tensor is named.
TEST(HeadDraft, an_embedding_that_the_config_promises_is_read) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelConfig config = small_config();
  const Decoder target(*ops, config, *dummy_weights(1), DType::kF32);
  const std::vector<std::string> names{"mtp.fc.weight"};
  const HeadDraft shared(*ops, find_mtp_heads(names, config).at(0), *dummy_weights(2), target);
  config.mtp_has_embedding = true;
  const HeadConfig own = find_mtp_heads(names, config).at(0);
  const HeadDraft dedicated(*ops, own, *dummy_weights(2), target);
  const auto embedding = static_cast<std::size_t>(config.vocab * config.hidden) * sizeof(float);
  EXPECT_EQ(dedicated.weight_bytes(), shared.weight_bytes() + embedding);

  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("mtp.fc.weight", {16, 32})}));
  const auto weights = open_checkpoint(folder.path(), "auto", false);
  EXPECT_THAT(error_of([&] { HeadDraft(*ops, own, *weights, target); }),
              testing::HasSubstr("mtp.embed_tokens.weight"));
}

}  // namespace
}  // namespace foretoken
