#include "model/heads/head_draft.h"

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/threads.h"
#include "checkpoint/checkpoint.h"

namespace foretoken {
namespace {

TEST(HeadDraft, a_first_layer_that_reads_both_inputs_cannot_be_parallel) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelConfig config;
  config.architecture = "Parallel";
  config.layers = 1;
  config.hidden = 16;
  config.intermediate = 32;
  config.heads = config.kv_heads = 2;
  config.head_dim = 8;
  config.vocab = 20;
  config.max_position = config.context_length = 16;
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

}  // namespace
}  // namespace foretoken
