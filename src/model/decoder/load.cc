#include "model/decoder/load.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <boost/json.hpp>

#include "base/byte_text.h"
#include "base/error.h"
#include "base/file_fields.h"
#include "base/json_text.h"
#include "base/log.h"
#include "checkpoint/model_files.h"
#include "checkpoint/packed/packed_cache.h"
#include "checkpoint/quantized/ordered_rows.h"
#include "model/decoder/halved_pairs.h"
#include "model/decoder/stacked_experts.h"
#include "model/decoder/text_weights.h"
#include "model/decoder/usual_names.h"
#include "tensor/dtype_names.h"

namespace foretoken {
namespace {

// NVIDIA's Model Optimizer describes what it made in a file of its own, too, and older versions
// only there.
void take_modelopt_file(const ModelFiles& files, ModelConfig& config) {
  if (config.stored_quantization) return;
  const std::string path = files.where("hf_quant_config.json");
  auto said = read_json_file(files, "hf_quant_config.json");
  if (!said) return;
  const FileFields fields(*said, path);
  const auto* const stored = fields.object("quantization");
  if (stored == nullptr || !FileFields(*stored, path).has("quant_algo")) return;  // floats
  (*said)["quant_method"] = "modelopt";
  config.stored_quantization = StoredQuantization::parse(*said, path);
}

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

// A checkpoint of which a subclass changes something.
class OtherWeights : public WeightSource, public OrderedRows {
 public:
  explicit OtherWeights(std::unique_ptr<WeightSource> source) : source_(std::move(source)) {}
  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    return source_->find(name, expected);
  }
  std::optional<GgufRows> rows(const std::string& name) const override {
    return source_->rows(name);
  }
  std::vector<std::string> names() const override { return source_->names(); }
  std::string where() const override { return source_->where(); }
  void release(const std::string& name) const override { source_->release(name); }
  PackedCache* packed() const override { return source_->packed(); }
  std::vector<std::int64_t> stored_rows(const std::string& matrix,
                                        std::int64_t rows) const override {
    const auto* const ordered = dynamic_cast<const OrderedRows*>(source_.get());
    return ordered != nullptr ? ordered->stored_rows(matrix, rows) : std::vector<std::int64_t>{};
  }

 private:
  std::unique_ptr<WeightSource> source_;
};

// Its packed matrices are kept.
class KeptWeights final : public OtherWeights {
 public:
  KeptWeights(std::unique_ptr<WeightSource> source, std::unique_ptr<PackedCache> cache)
      : OtherWeights(std::move(source)), cache_(std::move(cache)) {}
  PackedCache* packed() const override { return cache_.get(); }

 private:
  std::unique_ptr<PackedCache> cache_;
};

// Tensors with some prefixes are not listed: others read them.
class OwnWeights final : public OtherWeights {
 public:
  OwnWeights(std::unique_ptr<WeightSource> source, std::vector<std::string> hidden)
      : OtherWeights(std::move(source)), hidden_(std::move(hidden)) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> names = OtherWeights::names();
    std::erase_if(names, [this](const std::string& name) {
      return std::ranges::any_of(
          hidden_, [&](const std::string& prefix) { return name.starts_with(prefix); });
    });
    return names;
  }

 private:
  std::vector<std::string> hidden_;
};

std::string memory_text(const ModelOptions& options) {
  if (!options.available_memory_bytes) return {};
  return fmt::format(" avail mem={:.2f} GB", gigabytes(options.available_memory_bytes()));
}

// Most checkpoints of codes leave the output matrix at 16 bits, which in a small model weighs more
// than its layers.
void advise_on_head(const Decoder& decoder, const ModelConfig& config,
                    const Quantization& quantization) {
  constexpr double kMuch = 0.1;
  const auto bytes = static_cast<double>(decoder.head().bytes());
  const double share = bytes / static_cast<double>(decoder.weight_bytes());
  const bool is_float = bytes >= 2.0 * static_cast<double>(config.vocab * config.hidden);
  const bool was_asked = quantization.is_on() || !quantization.head_name.empty();
  if (config.stored_quantization && is_float && share >= kMuch && !was_asked)
    log_info(
        "The output matrix is {:.0f} % of the weights; --quantization-head w8a8_int8 keeps it at 8 "
        "bits.",
        100 * share);
}

// Codes of which all are integers of as many bits, whose products keep their input: 0 if not so.
int bits_that_keep_input(const StoredQuantization& stored) {
  int bits = 0;
  for (const StoredFormat& format : stored.formats()) {
    const bool is_other = bits != 0 && format.bits != bits;
    if (is_other || format.rounds_input || format.kind == StoredFormat::Kind::kFp8) return 0;
    bits = format.bits;
  }
  return bits;
}

void advise_on_input(const ModelConfig& config, const Quantization& quantization) {
  const int bits =
      config.stored_quantization ? bits_that_keep_input(*config.stored_quantization) : 0;
  if (bits != 0 && !quantization.layers.is_coded())
    log_info(
        "Products of codes keep their input; --quantization {} keeps the codes and rounds it to 8 "
        "bits, which is faster, most of all where a processor has no bf16 instructions.",
        bits == 4 ? "w4a8" : "w8a8_int8");
}

}  // namespace

void check_stored_method(const ModelConfig& config, const ModelOptions& options,
                         const std::string& folder) {
  const std::string& asked = options.quantization.stored_method;
  if (asked.empty()) return;
  const std::string found = config.stored_quantization ? config.stored_quantization->method
                            : is_model_file(folder)    ? "gguf"
                                                       : "not quantized";
  const std::string flag =
      options.part == "draft" ? "--speculative-draft-model-quantization" : "--quantization";
  if (found != asked)
    throw Error({"the checkpoint is not quantized as " + flag + " says", folder, asked, found});
}

ModelConfig read_model_config(const std::string& folder, const ModelOptions& options) {
  if (!std::filesystem::is_directory(folder) && !is_model_file(folder))
    throw Error({"no such model", folder, "a folder with config.json, or a GGUF file", {}});
  const auto files = open_model_files(folder);
  const auto text = files->read("config.json");
  if (!text) throw Error({.what = "the model folder has no config.json", .where = folder});
  ModelConfig config =
      ModelConfig::parse(*text, files->where("config.json"), options.config_overrides);
  take_modelopt_file(*files, config);
  config.kv_dtype = options.kv_dtype;
  config.context_length =
      choose_context_length(config, options.context_length, options.longer_context);
  return config;
}

std::unique_ptr<WeightSource> open_weights(const std::string& folder, const ModelOptions& options) {
  if (options.load_format == "dummy") {
    if (!options.packed_cache.empty())
      log_warning("--packed-cache has no effect: made-up weights are in no file.");
    return dummy_weights(options.seed);
  }
  auto weights = open_checkpoint(folder, options.load_format, options.show_progress);
  if (options.packed_cache.empty()) return weights;
  const Quantization& quantization = options.quantization;
  const std::string wish = fmt::format("{} {}; layers {}; head {}; {}", options.load_format,
                                       options.dtype, format_text(quantization.layers),
                                       format_text(quantization.head), options.config_overrides);
  return std::make_unique<KeptWeights>(
      std::move(weights), open_packed_cache(options.packed_cache, folder, options.part, wish));
}

std::unique_ptr<WeightSource> decoder_weights(std::unique_ptr<WeightSource> weights,
                                              const ModelConfig& config) {
  if (config.has_towers) weights = text_weights(std::move(weights));
  weights = usual_names(std::move(weights), config.renames);
  weights = stacked_experts(std::move(weights), config.experts.stacks);
  if (config.pairs_neighbours) weights = halved_pairs(std::move(weights), config);
  return weights;
}

std::unique_ptr<WeightSource> own_weights(std::unique_ptr<WeightSource> weights,
                                          const ModelOptions& options, const ModelConfig& config) {
  if (options.others == nullptr) return weights;
  auto hidden = options.others(weights->names(), config);
  if (hidden.empty()) return weights;
  return std::make_unique<OwnWeights>(std::move(weights), std::move(hidden));
}

void finish_packed(const WeightSource& weights) {
  if (PackedCache* const cache = weights.packed()) cache->finish();
}

std::unique_ptr<Decoder> load_model(LoadOps& ops, const std::string& folder,
                                    const ModelOptions& options) {
  return load_model(ops, folder, options, read_model_config(folder, options));
}

std::unique_ptr<Decoder> load_model(LoadOps& ops, const std::string& folder,
                                    const ModelOptions& options, const ModelConfig& config) {
  check_stored_method(config, options, folder);
  log_info("Load weight begin.{}", memory_text(options));
  const auto weights =
      own_weights(decoder_weights(open_weights(folder, options), config), options, config);
  const DType dtype = serving_dtype(config, *weights, options.dtype);
  auto decoder = std::make_unique<Decoder>(ops, config, *weights, dtype, options.quantization);
  finish_packed(*weights);
  const std::string memory = memory_text(options);
  Quantization asked = options.quantization;
  if (!asked.layers.is_coded() && config.stored_quantization)
    asked.name = config.stored_quantization->method;
  const std::string quantization = asked.is_on() || config.stored_quantization
                                       ? " quantization=" + asked.text() + ","
                                       : std::string{};
  log_info("Load weight end. type={}, dtype={},{}{} mem usage={:.2f} GB.", config.architecture,
           dtype_name(dtype), quantization, memory.empty() ? "" : memory + ",",
           gigabytes(decoder->weight_bytes()));
  advise_on_head(*decoder, config, options.quantization);
  advise_on_input(config, options.quantization);
  return decoder;
}

}  // namespace foretoken
