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
  load_drafts(options);
  const EngineConfig config = size_engine(options, memory);
  runner_ = std::make_unique<Runner>(*ops_, *decoder_, config.total_tokens / kPageTokens);
  drafter_ =
      make_drafter(*ops_, std::move(draft_model_), tree_shape_, config.total_tokens / kPageTokens,
                   config.max_running_requests, options.draft.budget);
  TargetModel* target = runner_.get();
  if (options.simulation.length > 0) {
    log_warning(
        "Acceptance is simulated: {} tokens per step, whatever the model says. ALL ANSWERS ARE "
        "WRONG, only their speed means something. To serve, leave out --simulate-acc-len and "
        "SGLANG_SIMULATE_ACC_LEN.",
        options.simulation.length);
    simulated_ = std::make_unique<SimulatedAcceptance>(*runner_, options.simulation);
    target = simulated_.get();
  }
  engine_ = std::make_unique<Engine>(config, *ops_, *target, *drafter_);

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

// The draft model shares the target's pages, so each of them costs the KV of both.
void ModelHost::load_drafts(const Options& options) {
  weight_bytes_ = decoder_->weight_bytes();
  page_bytes_ = KvStore::bytes_per_page(decoder_->kv_shape());
  if (options.draft.algorithm.empty()) return;
  DraftOptions draft = options.draft;
  draft.load.available_memory_bytes = [] { return read_memory().available_bytes; };
  tree_shape_ = choose_tree_shape(draft, decoder_->config().architecture);
  draft_model_ = load_draft_model(*ops_, *decoder_, draft);
  drafts_ = true;
  log_info(
      "Draft trees: speculative_num_steps={}, speculative_eagle_topk={}, "
      "speculative_num_draft_tokens={}.",
      tree_shape_.steps, tree_shape_.topk, tree_shape_.nodes);
  if (!draft_model_) return;
  weight_bytes_ += draft_model_->weight_bytes() +
                   draft_bytes_per_slot(*draft_model_) *
                       static_cast<std::size_t>(options.engine.max_running_requests);
  page_bytes_ += draft_bytes_per_page(*draft_model_);
}

EngineConfig ModelHost::size_engine(const Options& options, const MachineMemory& memory) const {
  EngineConfig config = options.engine;
  config.context_length = static_cast<int>(decoder_->config().context_length);
  const MemoryNeeds needs{.weight_bytes = weight_bytes_,
                          .page_bytes = page_bytes_,
                          .useful_tokens = useful_tokens(config)};
  config.total_tokens = plan_kv_tokens(options.memory, memory, needs);
  return config;
}

std::size_t ModelHost::kv_bytes() const {
  return static_cast<std::size_t>(config().total_tokens / kPageTokens) * page_bytes_;
}

// Greedily, whatever the tokens; throws Error when the generation fails.
TokenDelta ModelHost::answer(std::vector<Token> prompt, int new_tokens) {
  Request request;
  request.id = "warm-up";
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.top_logprobs = -1;
  request.max_new_tokens = new_tokens;
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
  return delta;
}

void ModelHost::warm_up() { answer(std::vector<Token>(8, Token{0}), 4); }

void ModelHost::check_drafts(const std::vector<Token>& prompt) {
  constexpr int kNewTokens = 48;
  const int room = config().context_length - static_cast<int>(prompt.size());
  if (!drafts_ || prompt.empty() || room < 2) return;
  const TokenDelta end = answer(prompt, std::min(kNewTokens, room));
  if (end.proposed_drafts == 0 || end.verify_steps == 0) return;
  const double length = 1.0 + static_cast<double>(end.accepted_drafts) / end.verify_steps;
  log_info("Self-check of the drafts: accept length {:.2f} in {} steps.", length, end.verify_steps);
  if (end.accepted_drafts == 0)
    log_warning(
        "None of {} proposals of the draft model was right (accept length 1.00): answers are "
        "correct, but slower than without drafts. Likely causes: the draft model was made for "
        "another model or vocabulary, it has random weights (load format dummy), or its "
        "checkpoint is damaged.",
        end.proposed_drafts);
}

std::vector<Token> stop_tokens_of(const std::string& model_folder, const ModelConfig& config) {
  const auto generation = read_generation_config(model_folder);
  return generation.eos.empty() ? config.eos : generation.eos;
}

}  // namespace foretoken
