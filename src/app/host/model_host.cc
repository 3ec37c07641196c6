#include "app/host/model_host.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "app/host/memory_plan.h"
#include "base/byte_text.h"
#include "base/index.h"
#include "base/log.h"
#include "base/seconds_since.h"
#include "draft/algorithm.h"
#include "draft/catalogue/plan_drafts.h"
#include "engine/step_memory.h"
#include "kv/kv_dtype.h"
#include "model/decoder/load.h"
#include "model/heads/head_config.h"

namespace foretoken {
namespace {

ModelOptions model_options(const Options& options) {
  ModelOptions model;
  model.dtype = options.load.dtype;
  model.quantization = options.load.quantization;
  model.kv_dtype = options.load.kv_dtype;
  model.load_format = options.load.load_format;
  model.seed = options.load.seed;
  model.packed_cache = options.load.packed_cache;
  model.config_overrides = options.load.config_overrides;
  model.context_length = options.load.context_length;
  model.longer_context =
      options.load.allow_longer_context ? LongerContext::kWarn : LongerContext::kRefuse;
  model.others = mtp_prefixes;
  model.available_memory_bytes = [] { return read_memory().available_bytes; };
  return model;
}

// Prefixes of twice the running texts stay cached; more memory is taken only when asked for.
int useful_tokens(const EngineConfig& engine) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  return static_cast<int>(
      std::min(kMost, std::int64_t{2} * engine.max_running_requests * engine.context_length));
}

// Where acceptance is simulated, the drafter must know, too.
DraftSetup draft_setup(const Options& options, const std::string& target_architecture) {
  DraftSetup setup = set_up_drafts(options.draft, target_architecture);
  setup.available_memory_bytes = [] { return read_memory().available_bytes; };
  for (int drafts = 1; options.simulation.length > 0 && drafts < kMaxTreeNodes; ++drafts)
    setup.simulated_chances.push_back(static_cast<float>(options.simulation.chance(drafts)));
  return setup;
}

// States of texts for the prefix cache: as much memory as those of running requests take, and room
// for a few chats beside.
int state_snapshots(const EngineConfig& config) {
  constexpr int kOfRequest = 2, kMore = 8;
  if (!config.radix_cache) return 0;
  return config.state_snapshots.value_or(kOfRequest * config.max_running_requests + kMore);
}

}  // namespace

ModelHost::ModelHost(const Options& options, const MakeDrafter& make) : pool_(options.threads) {
  const auto start = std::chrono::steady_clock::now();
  MachineMemory memory = read_memory();
  ops_ = make_backend(options.backend, pool_);
  if (const MemoryRoom room = ops_->memory_room(); room.total_bytes > 0)
    memory = {.total_bytes = room.total_bytes, .available_bytes = room.available_bytes};
  log_info("Backend: {}.", ops_->description());
  const ModelOptions wanted = model_options(options);
  const ModelConfig model = read_model_config(options.load.model_folder, wanted);
  check_draft_models(options.draft, model);
  decoder_ = load_model(*ops_, options.load.model_folder, wanted, model);
  load_drafts(options);
  autotune(*ops_, options.autotune);
  phases_.emplace_back("load_weight", seconds_since(start));
  const auto loaded = std::chrono::steady_clock::now();
  const EngineConfig config = size_engine(options, memory);
  runner_ = std::make_unique<Runner>(*ops_, *decoder_, pages_for(config.total_tokens),
                                     StateRoom{.slots = config.max_running_requests,
                                               .tree_nodes = drafts_->plan.max_nodes(),
                                               .snapshots = state_snapshots(config)});
  const int num_pages = pages_for(config.total_tokens), num_slots = config.max_running_requests;
  drafter_ = make ? make(*ops_, std::move(draft_model_), *drafts_, num_pages, num_slots)
                  : make_drafter(*ops_, std::move(draft_model_), *drafts_, num_pages, num_slots);
  TargetModel* target = runner_.get();
  if (options.simulation.length > 0) {
    log_warning(
        "Acceptance is simulated: {} tokens per step, whatever the model says. ALL ANSWERS ARE "
        "WRONG, only their speed means something. To serve, leave out --simulate-acc-len and "
        "SGLANG_SIMULATE_ACC_LEN.",
        options.simulation.length);
    simulated_ = std::make_unique<SimulatedAcceptance>(*ops_, *runner_, options.simulation);
    target = simulated_.get();
  }
  for (const DraftPart& part : drafts_->plan.parts)
    if (config.greedy && !part.algorithm->greedy_variable.empty())
      log_warning(
          "{} is set: every request is decoded as at temperature 0, so sampled answers differ from "
          "those without it.",
          part.algorithm->greedy_variable);
  log_info("Overlap schedule: {}.", config.ring_depth > 1
                                        ? "on, the next step is planned while one is computed"
                                        : "off, steps are planned one after the other");
  engine_ = std::make_unique<Engine>(config, *ops_, *target, *drafter_);
  phases_.emplace_back("kv_cache_allocation", seconds_since(loaded));
  phases_.emplace_back("scheduler_e2e", seconds_since(start));

  const double half = gigabytes(kv_bytes()) / 2;
  log_info("KV Cache is allocated. #tokens: {}, K size: {:.2f} GB, V size: {:.2f} GB, dtype: {}",
           config.total_tokens, half, half, kv_types_);
  if (runner_->keeps_states())
    log_info("States of layers: {} running requests, {} snapshots of texts for the prefix cache.",
             config.max_running_requests, runner_->state_snapshots());
  const int context = engine_->config().context_length;
  const int requests = config.total_tokens / context;
  log_info(
      "Room for {} request{} of the full context of {} tokens, or for {} of {} each; memory is "
      "taken "
      "as it is used.",
      requests, requests == 1 ? "" : "s", context, config.max_running_requests,
      config.total_tokens / config.max_running_requests);
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
  page_bytes_ = ops_->kv_page_bytes(decoder_->kv_shape());
  kv_types_ = kv_dtype_name(decoder_->kv_shape().dtype);
  drafts_.emplace(draft_setup(options, decoder_->config().architecture));
  drafter_bytes_ = draft_fixed_bytes(*drafts_);
  if (!drafts()) return;
  const DraftPlan& plan = drafts_->plan;
  draft_model_ = load_draft_model(*ops_, *decoder_, *drafts_);
  has_draft_model_ = draft_model_ != nullptr;
  log_info(
      "Draft trees: speculative_num_steps={}, speculative_eagle_topk={}, "
      "speculative_num_draft_tokens={}.",
      plan.shape.steps, plan.shape.topk, plan.shape.nodes);
  if (drafter_bytes_ > 0)
    log_info("Memory of texts for drafts: up to {:.2f} GB.", gigabytes(drafter_bytes_));
  if (!draft_model_) return;
  weight_bytes_ += draft_model_->weight_bytes() +
                   draft_bytes_per_slot(*draft_model_) *
                       static_cast<std::size_t>(options.engine.max_running_requests);
  page_bytes_ += draft_bytes_per_page(*ops_, *draft_model_);
  const std::string_view draft_type = kv_dtype_name(draft_model_->kv_shape().dtype);
  if (draft_type != kv_types_) kv_types_ += fmt::format(" (of drafts: {})", draft_type);
}

EngineConfig ModelHost::size_engine(const Options& options, const MachineMemory& memory) const {
  EngineConfig config = options.engine;
  config.context_length = static_cast<int>(decoder_->config().context_length);
  const DraftPlan& plan = drafts_->plan;
  KvShape states = decoder_->kv_shape();
  states.slots = config.max_running_requests;
  states.tree_nodes = plan.max_nodes();
  states.snapshots = state_snapshots(config);
  const StepModels models{.target = decoder_->config(),
                          .draft = draft_model_.get(),
                          .shape = plan.model,
                          .max_nodes = plan.max_nodes(),
                          .most_drafts = plan.most_drafts(config.max_running_requests)};
  const MemoryNeeds needs{.weight_bytes = weight_bytes_,
                          .text_bytes = drafter_bytes_,
                          .page_bytes = page_bytes_,
                          .step_bytes = most_step_bytes(config, *ops_, models),
                          .state_bytes = ops_->state_bytes(states),
                          .useful_tokens = useful_tokens(config),
                          .context_tokens = config.context_length};
  config.total_tokens = plan_kv_tokens(options.memory, memory, needs);
  return config;
}

std::vector<std::string> ModelHost::drafters() const {
  std::vector<std::string> names;
  for (const DraftPart& part : drafts_->plan.parts) names.emplace_back(part.algorithm->name);
  return names;
}

std::size_t ModelHost::kv_bytes() const {
  return at(pages_for(config().total_tokens)) * page_bytes_;
}

std::size_t ModelHost::draft_kv_bytes() const {
  const std::size_t draft_page_bytes = page_bytes_ - ops_->kv_page_bytes(decoder_->kv_shape());
  return static_cast<std::size_t>(config().total_tokens / kPageTokens) * draft_page_bytes;
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
  if (!has_draft_model_ || prompt.empty() || room < 2) return;
  const TokenDelta end = answer(prompt, std::min(kNewTokens, room));
  if (end.verify_steps == 0) return;
  if (end.proposed_drafts == 0) {
    log_info(
        "Self-check of the drafts: nothing was drafted, because on this machine and this prompt no "
        "draft is worth its cost (see --draft-budget).");
    return;
  }
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

}  // namespace foretoken
