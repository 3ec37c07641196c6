#include "model/load.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "model/dtype_names.h"

namespace foretoken {
namespace {

// What the checkpoint is stored in: the config says so, or the embedding shows it.
DType stored_dtype(const ModelConfig& config, const WeightSource& weights) {
  if (config.stored_dtype) return *config.stored_dtype;
  if (weights.names().empty()) return DType::kBF16;
  const auto embedding = weights.find("model.embed_tokens.weight", {config.vocab, config.hidden});
  return embedding ? embedding->dtype() : DType::kBF16;
}

DType serving_dtype(const ModelConfig& config, const WeightSource& weights,
                    const std::string& option) {
  if (option != "auto") {
    const auto dtype = float_dtype_named(option);
    if (!dtype)
      throw Error({"unknown dtype", "--dtype", "auto, bfloat16, float16 or float32", option});
    return *dtype;
  }
  const DType stored = stored_dtype(config, weights);
  if (stored == DType::kBF16 || stored == DType::kF16) return stored;
  log_info("The checkpoint is stored as {}; --dtype auto serves it as bfloat16.",
           dtype_name(stored));
  return DType::kBF16;
}

void check_method(const ModelConfig& config, const Quantization& asked, const std::string& where) {
  if (asked.stored_method.empty()) return;
  const std::string found =
      config.stored_quantization ? config.stored_quantization->method : "not quantized";
  if (found != asked.stored_method)
    throw Error({"the checkpoint is not quantized as --quantization says", where,
                 asked.stored_method, found});
}

std::string gigabytes(double bytes) { return fmt::format("{:.2f} GB", bytes / (1 << 30)); }

std::string memory_text(const ModelOptions& options) {
  if (!options.available_memory_bytes) return {};
  return " avail mem=" + gigabytes(static_cast<double>(options.available_memory_bytes()));
}

}  // namespace

ModelConfig read_model_config(const std::string& folder, const ModelOptions& options) {
  if (!std::filesystem::is_directory(folder))
    throw Error({"no such model folder", folder, "a folder with config.json", {}});
  const std::string path = folder + "/config.json";
  const auto text = read_file(path);
  if (!text) throw Error({"the model folder has no config.json", folder, {}, {}});
  ModelConfig config = ModelConfig::parse(*text, path, options.config_overrides);
  config.kv_dtype = options.kv_dtype;
  config.context_length =
      choose_context_length(config, options.context_length, options.longer_context);
  return config;
}

std::unique_ptr<WeightSource> open_weights(const std::string& folder, const ModelOptions& options) {
  if (options.load_format == "dummy") return dummy_weights(options.seed);
  return open_checkpoint(folder, options.load_format, options.show_progress);
}

std::unique_ptr<Decoder> load_model(Ops& ops, const std::string& folder,
                                    const ModelOptions& options) {
  const ModelConfig config = read_model_config(folder, options);
  check_method(config, options.quantization, folder);
  log_info("Load weight begin.{}", memory_text(options));
  const auto weights = open_weights(folder, options);
  const DType dtype = serving_dtype(config, *weights, options.dtype);
  auto decoder = std::make_unique<Decoder>(ops, config, *weights, dtype, options.quantization);
  const std::string memory = memory_text(options);
  std::string quantization;
  if (options.quantization.is_on())
    quantization = " quantization=" + options.quantization.name + ",";
  else if (config.stored_quantization)
    quantization = " quantization=" + config.stored_quantization->method + ",";
  log_info("Load weight end. type={}, dtype={},{}{} mem usage={}.", config.architecture,
           dtype_name(dtype), quantization, memory.empty() ? "" : memory + ",",
           gigabytes(static_cast<double>(decoder->weight_bytes())));
  return decoder;
}

}  // namespace foretoken
