#pragma once
// Options: the command line and the environment, validated and resolved into the const
// configurations of the parts. Nothing after this looks at flags. What depends on the checkpoint
// (sizes, context length, stop tokens) is filled in by app/host once the checkpoint is open. Plain
// data; resolve_options() makes it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/machine/autotune.h"
#include "backend/backend.h"
#include "base/log.h"
#include "draft/draft_options.h"
#include "engine/engine.h"
#include "engine/simulated_acceptance.h"
#include "model/config/quantization.h"
#include "server/context/server_config.h"

namespace foretoken {

// Which files to load, and how.
struct LoadOptions {
  std::string model_folder;       // resolved
  std::string tokenizer_path;     // resolved: folder or file
  std::string load_format;        // auto | safetensors | pt | dummy
  std::string dtype;              // auto | half | float16 | bfloat16 | float | float32
  Quantization quantization;      // of the matrices
  std::optional<DType> kv_dtype;  // of keys and values; absent: that of the weights
  std::string config_overrides;   // JSON object
  std::string chat_template;      // file or Jinja text; empty: the model's own
  std::optional<std::int64_t> context_length;
  std::uint64_t seed = 0;  // of dummy weights
  bool allow_longer_context = false;
  std::string packed_cache;  // folder of packed weights; empty: none are kept
};

struct MemoryOptions {
  std::optional<double> fraction;  // of usable memory, for weights and KV
  std::optional<int> max_total_tokens;
};

struct Options {
  LoadOptions load;
  MemoryOptions memory;
  BackendConfig backend;
  AutotuneOptions autotune;
  int threads = 0;        // 0: usable cores
  DraftOptions draft;     // folder resolved
  std::string hub_cache;  // where draft models may be that nobody has named
  AcceptanceSimulation simulation;
  EngineConfig engine;  // total_tokens and context_length still open
  ServerConfig server;  // what depends on the checkpoint still open
  LogLevel log_level = LogLevel::kInfo;
  bool sampling_defaults_of_model = true;
  bool skip_warmup = false;
  std::vector<std::string> notes;     // what was accepted without effect, for the log
  std::vector<std::string> warnings;  // what was changed, for the log
};

}  // namespace foretoken
