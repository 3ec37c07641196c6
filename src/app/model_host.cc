#include "app/model_host.h"

#include <algorithm>

#include "app/memory_plan.h"
#include "base/log.h"
#include "model/generation_config.h"
#include "model/load.h"

namespace foretoken {
namespace {

double gigabytes(std::size_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(std::size_t{1} << 30);
}

ModelOptions model_options(const Options& options) {
  ModelOptions model;
  model.dtype = options.load.dtype;
  model.load_format = options.load.load_format;
  model.seed = options.load.seed;
  model.config_overrides = options.load.config_overrides;
  model.context_length = options.load.context_length;
  model.longer_context =
      options.load.allow_longer_context ? LongerContext::kWarn : LongerContext::kRefuse;
  model.available_memory_bytes = [] { return read_memory().available_bytes; };
  return model;
}

// Prefixes of twice the running texts stay cached; more memory is taken only when asked for.
int useful_tokens(const EngineConfig& engine) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  return static_cast<int>(
      std::min(kMost, std::int64_t{2} * engine.max_running_requests * engine.context_length));
}

}  // namespace

ModelHost::ModelHost(const Options& options) : pool_(options.threads) {
  const MachineMemory memory = read_memory();
  ops_ = make_backend(options.backend, pool_);
  log_info("Backend: {}.", ops_->description());
  decoder_ = load_model(*ops_, options.load.model_folder, model_options(options));
  const EngineConfig config = size_engine(options, memory);
  runner_ = std::make_unique<Runner>(*ops_, *decoder_, config.total_tokens / kPageTokens);
  drafter_ = make_null_drafter();
  engine_ = std::make_unique<Engine>(config, *ops_, *runner_, *drafter_);

  const double half = gigabytes(kv_bytes()) / 2;
  log_info("KV Cache is allocated. #tokens: {}, K size: {:.2f} GB, V size: {:.2f} GB",
           config.total_tokens, half, half);
  const double available = gigabytes(read_memory().available_bytes);
  log_info("Memory pool end. avail mem={:.2f} GB", available);
  log_info(
      "max_total_num_tokens={}, chunked_prefill_size={}, max_prefill_tokens={}, "
      "max_running_requests={}, context_len={}, available_mem={:.2f} GB",
      config.total_tokens, config.chunked_prefill_size, config.max_prefill_tokens,
      config.max_running_requests, config.context_length, available);
}

EngineConfig ModelHost::size_engine(const Options& options, const MachineMemory& memory) const {
  EngineConfig config = options.engine;
  config.context_length = static_cast<int>(decoder_->config().context_length);
  const MemoryNeeds needs{.weight_bytes = decoder_->weight_bytes(),
                          .page_bytes = KvStore::bytes_per_page(decoder_->kv_shape()),
                          .useful_tokens = useful_tokens(config)};
  config.total_tokens = plan_kv_tokens(options.memory, memory, needs);
  return config;
}

std::size_t ModelHost::kv_bytes() const {
  return static_cast<std::size_t>(config().total_tokens / kPageTokens) *
         KvStore::bytes_per_page(decoder_->kv_shape());
}

void ModelHost::warm_up() {
  Request request;
  request.id = "warm-up";
  request.prompt.assign(8, Token{0});
  request.sampling.temperature = 0;
  request.sampling.top_logprobs = -1;
  request.max_new_tokens = 4;
  request.stream = std::make_shared<TokenStream>();
  const auto stream = request.stream;
  if (const auto refusal = engine_->submit(std::move(request)))
    throw Error({.what = "the warm-up was refused", .found = refusal->message});
  TokenDelta delta;
  do {
    delta = stream->wait();
  } while (!delta.finish);
  if (delta.finish->reason != FinishReason::kLength && delta.finish->reason != FinishReason::kStop)
    throw Error({.what = "the warm-up failed", .found = delta.finish->message});
  engine_->flush_cache().wait();
}

std::vector<Token> stop_tokens_of(const std::string& model_folder, const ModelConfig& config) {
  const auto generation = read_generation_config(model_folder);
  return generation.eos.empty() ? config.eos : generation.eos;
}

}  // namespace foretoken
