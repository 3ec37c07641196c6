#pragma once
// Loading a model: from a checkpoint folder and the options of the command line to a Decoder.
// Not the tokenizer, not the KV store. Throws Error; logs SGLang's "Load weight" lines.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/ops/load_ops.h"
#include "checkpoint/checkpoint.h"
#include "model/config/context_length.h"
#include "model/config/quantization.h"
#include "model/decoder/decoder.h"

namespace foretoken {

struct ModelOptions {
  std::string dtype = "auto";          // auto | bfloat16 | half | float16 | float | float32
  Quantization quantization = {};      // of matrices
  std::optional<DType> kv_dtype = {};  // absent: that of the weights
  std::string load_format = "auto";    // auto | safetensors | pt | dummy
  std::string packed_cache = {};       // folder of packed weights; empty: none are kept
  std::string part = "target";         // whose weights they are
  std::uint64_t seed = 0;              // of dummy weights
  std::string config_overrides = {};   // JSON object merged over config.json
  std::optional<std::int64_t> context_length = {};
  LongerContext longer_context = LongerContext::kRefuse;
  // Prefixes of tensors in the model's checkpoint that others read, as mtp_prefixes()
  // (heads/head_config.h); null: there are none.
  std::vector<std::string> (*others)(const std::vector<std::string>& names,
                                     const ModelConfig& config) = nullptr;
  bool show_progress = true;
  std::function<std::size_t()> available_memory_bytes = {};  // for the log; empty: not logged
};

// config.json of the folder with the context length chosen. Reads no weights.
ModelConfig read_model_config(const std::string& folder, const ModelOptions& options);

// The weights of a checkpoint folder in the format that the options name.
std::unique_ptr<WeightSource> open_weights(const std::string& folder, const ModelOptions& options);

// The same as a decoder of this config asks for them: under its names, rows in its order.
std::unique_ptr<WeightSource> decoder_weights(std::unique_ptr<WeightSource> weights,
                                              const ModelConfig& config);

// The same without the tensors that others read (ModelOptions::others).
std::unique_ptr<WeightSource> own_weights(std::unique_ptr<WeightSource> weights,
                                          const ModelOptions& options, const ModelConfig& config);

// Throws Error unless the checkpoint is quantized as the options say that it is.
void check_stored_method(const ModelConfig& config, const ModelOptions& options,
                         const std::string& folder);

// Once all matrices of a model have been made from weights that are kept: writes what is new.
void finish_packed(const WeightSource& weights);

std::unique_ptr<Decoder> load_model(LoadOps& ops, const std::string& folder,
                                    const ModelOptions& options);
// The same, of a folder whose config was read already.
std::unique_ptr<Decoder> load_model(LoadOps& ops, const std::string& folder,
                                    const ModelOptions& options, const ModelConfig& config);

}  // namespace foretoken
