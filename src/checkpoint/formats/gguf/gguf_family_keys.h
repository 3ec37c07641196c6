#pragma once
// What files of single families say beside the keys of all, or leave out: as keys of config.json,
// for the rows of gguf_architectures.cc. Those of layers that keep a state are in gguf_states.h,
// those of layers that differ in gguf_mixed_layers.h. Throw Error naming the key.

#include <boost/json/object.hpp>

#include "checkpoint/formats/gguf/gguf_model.h"

namespace foretoken {

// Of several: heads that rotate in part; layers whose MLP has no experts.
void add_gguf_rotated(const GgufModel& model, boost::json::object& config);
void add_gguf_dense_layers(const GgufModel& model, boost::json::object& config);

void add_gguf_gemma2(const GgufModel& model, boost::json::object& config);
void add_gguf_gemma3(const GgufModel& model, boost::json::object& config);
void add_gguf_cohere(const GgufModel& model, boost::json::object& config);
void add_gguf_seed_oss(const GgufModel& model, boost::json::object& config);
void add_gguf_ernie4_5(const GgufModel& model, boost::json::object& config);
void add_gguf_exaone4(const GgufModel& model, boost::json::object& config);
void add_gguf_phi3(const GgufModel& model, boost::json::object& config);
void add_gguf_olmo2(const GgufModel& model, boost::json::object& config);
void add_gguf_qwen3_moe(const GgufModel& model, boost::json::object& config);
void add_gguf_glm4_moe(const GgufModel& model, boost::json::object& config);
void add_gguf_gpt_oss(const GgufModel& model, boost::json::object& config);
void add_gguf_llama4(const GgufModel& model, boost::json::object& config);
void add_gguf_latent(const GgufModel& model, boost::json::object& config);
void add_gguf_mistral3(const GgufModel& model, boost::json::object& config);
void add_gguf_gemma4_assistant(const GgufModel& model, boost::json::object& config);

}  // namespace foretoken
