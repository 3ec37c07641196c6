#include "targets.h"

#include <array>

namespace foretoken::fuzz {

std::span<const NamedTarget> all_targets() {
  static constexpr std::array<NamedTarget, 17> kTargets{{{"safetensors", safetensors},
                                                         {"gguf", gguf},
                                                         {"pickle", pickle},
                                                         {"zip", zip},
                                                         {"torch_file", torch_file},
                                                         {"checkpoint", checkpoint},
                                                         {"token_map", token_map},
                                                         {"model_config", model_config},
                                                         {"tokenizer_json", tokenizer_json},
                                                         {"sentencepiece", sentencepiece},
                                                         {"chat_template", chat_template},
                                                         {"answer", answer},
                                                         {"stop_expressions", stop_expressions},
                                                         {"json_body", json_body},
                                                         {"http", http},
                                                         {"flags", flags},
                                                         {"tune_record", tune_record}}};
  return kTargets;
}

}  // namespace foretoken::fuzz
