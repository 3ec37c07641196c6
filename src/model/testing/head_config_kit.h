#pragma once
// Configs of draft heads as text, for a made-up target: for tests of what is read of them.

#include <string>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"
#include "model/heads/head_config.h"

namespace foretoken::head_config_kit {

inline ModelConfig target() {
  ModelConfig config;
  config.architecture = "LlamaForCausalLM";
  config.layers = 12;
  config.hidden = 64;
  config.intermediate = 96;
  config.heads = config.kv_heads = 4;
  config.head_dim = 16;
  config.vocab = 300;
  config.max_position = config.context_length = 512;
  return config;
}

// The config of a head: `more` are further keys, with a comma in front.
inline std::string config_text(const std::string& architecture, const std::string& more = {}) {
  return R"({"architectures":[")" + architecture + R"("],"num_hidden_layers":1,"hidden_size":64,
      "intermediate_size":96,"num_attention_heads":4,"num_key_value_heads":4,"vocab_size":300,
      "max_position_embeddings":128)" +
         more + "}";
}

inline HeadConfig read(const std::string& text, HeadFamily family) {
  const TestFolder folder;
  folder.write("config.json", text);
  return read_head_config(folder.path(), family, target());
}

inline HeadConfig eagle3(const std::string& more = {}) {
  return read(config_text("LlamaForCausalLMEagle3", more), HeadFamily::kEagle3);
}

inline std::string eagle3_fault(const std::string& more) {
  return error_of([&] { eagle3(more); });
}

}  // namespace foretoken::head_config_kit
