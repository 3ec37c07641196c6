#include "bench/shapes.h"

#include <map>

#include <fmt/ranges.h>

#include "base/error.h"

namespace foretoken {
namespace {

const std::map<std::string, std::string>& shapes() {
  static const std::map<std::string, std::string> table = {
      {"llama-3.2-1b", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
        "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05,
        "rope_theta": 500000.0, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0,
        "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
        "tie_word_embeddings": true, "torch_dtype": "bfloat16", "hidden_act": "silu"})"},
      {"demo", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": 384, "intermediate_size": 768, "num_hidden_layers": 10,
        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 8192,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "tie_word_embeddings": true,
        "torch_dtype": "bfloat16", "hidden_act": "silu"})"},
      {"qwen2.5-0.5b", R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
        "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936,
        "max_position_embeddings": 32768, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "tie_word_embeddings": true, "torch_dtype": "bfloat16", "hidden_act": "silu"})"},
      {"llama-3.1-8b", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05,
        "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "hidden_act": "silu"})"},
      {"llama-2-7b", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
        "torch_dtype": "float16", "hidden_act": "silu"})"},
      // Almost nothing to compute: what a step costs besides.
      {"tiny", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 8192,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "tie_word_embeddings": true,
        "torch_dtype": "bfloat16", "hidden_act": "silu"})"},
  };
  return table;
}

}  // namespace

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const auto& [name, json] : shapes()) names.push_back(name);
  return names;
}

ModelConfig shape_config(const std::string& name) {
  const auto found = shapes().find(name);
  if (found == shapes().end()) {
    throw Error({"unknown shape", "--shape",
                 fmt::format("one of {}", fmt::join(shape_names(), ", ")), name});
  }
  return ModelConfig::parse(found->second, "shape " + name);
}

}  // namespace foretoken
