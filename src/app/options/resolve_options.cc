#include "app/options/resolve_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "app/options/checked_flags.h"
#include "app/options/server_args.h"
#include "app/options/server_options.h"
#include "base/letters.h"
#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/plan_drafts.h"
#include "kv/kv_dtype.h"

namespace foretoken {
namespace {

LogLevel log_level_named(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error" || name == "critical") return LogLevel::kError;
  return LogLevel::kInfo;
}

std::uint64_t seed_of(const FlagValues& values) {
  if (const auto seed = values.integer("--random-seed")) return static_cast<std::uint64_t>(*seed);
  return std::random_device{}() & 0x7fffffffU;
}

// Of an environment variable; `unset` where it is empty.
double number_of(const std::string& name, const std::string& text, double unset) {
  if (text.empty()) return unset;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(number))
    throw UsageError(name + ": expected a number, found '" + text + "'");
  return number;
}

// As with SGLang, what is not above 0 is no limit. More than a year is none either.
double timeout_of(const std::string& name, const std::string& text) {
  constexpr double kYear = 366.0 * 24 * 3600;
  const double seconds = number_of(name, text, 0);
  return seconds > 0 && seconds < kYear ? seconds : 0;
}

SchedulePolicy policy_named(const std::string& name) {
  if (name == "lpm") return SchedulePolicy::kLpm;
  return name == "random" ? SchedulePolicy::kRandom : SchedulePolicy::kFcfs;
}

// Unless it is asked for, steps follow each other: on a CPU planning takes the time of a core that
// computes.
int ring_depth(const FlagValues& values, const Environment& environment) {
  constexpr int kOverlapped = 2;  // one step is computed while the next is planned
  const std::string wanted = values.text("--overlap-schedule");
  if (values.on("--disable-overlap-schedule")) {
    if (wanted == "on")
      throw UsageError("--overlap-schedule on and --disable-overlap-schedule exclude each other");
    return 1;
  }
  return wanted == "on" || (wanted == "auto" && environment.overlaps_steps) ? kOverlapped : 1;
}

AutotuneOptions autotune_options(const FlagValues& values, const Environment& environment) {
  using Mode = AutotuneOptions::Mode;
  AutotuneOptions options;
  const std::string wanted = values.text("--autotune");
  if (wanted == "load")
    options.mode = Mode::kLoad;
  else if (wanted == "cached" ||
           (values.on("--enable-torch-compile") && !values.given("--autotune")))
    options.mode = Mode::kCached;
  options.max_rows = *bounded(values, "--torch-compile-max-bs", 1, 1 << 16);
  options.folder = values.text("--autotune-folder");
  if (options.folder.empty()) options.folder = environment.cache;
  return options;
}

void fill_ranks(const FlagValues& values, EngineConfig& engine) {
  engine.has_ranks = values.on("--enable-priority-scheduling");
  const int threshold = *bounded(values, "--priority-scheduling-preemption-threshold", 0);
  if (!engine.has_ranks) return;
  if (engine.policy != SchedulePolicy::kFcfs)
    throw UsageError("--enable-priority-scheduling: needs --schedule-policy fcfs, found '" +
                     values.text("--schedule-policy") + "'");
  if (!values.on("--disable-priority-preemption")) engine.preemption_gap = threshold;
}

EngineConfig engine_config(const FlagValues& values, const Environment& environment) {
  EngineConfig engine;
  engine.max_running_requests = *bounded(values, "--max-running-requests", 1, 1 << 16);
  engine.max_queued_requests = bounded(values, "--max-queued-requests", 1).value_or(0);
  engine.chunked_prefill_size = *bounded(values, "--chunked-prefill-size", -1);
  if (engine.chunked_prefill_size == 0)
    throw UsageError("--chunked-prefill-size: expected -1 or at least 1, found 0");
  engine.max_prefill_tokens = *bounded(values, "--max-prefill-tokens", 1);
  engine.decode_log_interval = *bounded(values, "--decode-log-interval", 1);
  engine.policy = policy_named(values.text("--schedule-policy"));
  fill_ranks(values, engine);
  engine.waiting_timeout_seconds =
      timeout_of("SGLANG_REQ_WAITING_TIMEOUT", environment.req_waiting_timeout);
  engine.running_timeout_seconds =
      timeout_of("SGLANG_REQ_RUNNING_TIMEOUT", environment.req_running_timeout);
  engine.output_estimate_clip = static_cast<int>(
      std::clamp(number_of("SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", environment.clip_max_new_tokens,
                           engine.output_estimate_clip),
                 0.0, 1e9));
  engine.ring_depth = ring_depth(values, environment);
  engine.radix_cache = !values.on("--disable-radix-cache");
  engine.state_snapshots = bounded(values, "--max-mamba-cache-size", 1, 1 << 20);
  engine.force_preempt_every = environment.force_preempt_every;
  engine.check_integrity = environment.check_integrity;
  return engine;
}

Quantization quantization_of(const FlagValues& values, const std::string& flag) {
  return quantization_named(values.text(flag), values.on("--quantization-scale-search"), flag);
}

// The algorithm is canonical; what the trees look like depends on the target's architecture.
DraftOptions draft_options(const FlagValues& values, const LoadOptions& target) {
  DraftOptions draft;
  try {
    draft.algorithm = algorithm_named(values.text("--speculative-algorithm"));
  } catch (const Error& fault) {
    throw UsageError(fault.what());
  }
  draft.steps = bounded(values, "--speculative-num-steps", 1);
  draft.topk = bounded(values, "--speculative-eagle-topk", 1);
  draft.nodes = bounded(values, "--speculative-num-draft-tokens", 1);
  draft.budget =
      values.text("--draft-budget") == "full" ? TreeBudget::kFull : TreeBudget::kMeasured;
  const std::string coupling = values.text("--draft-coupling");
  draft.coupling = coupling == "always"  ? Coupling::kAlways
                   : coupling == "never" ? Coupling::kNever
                                         : Coupling::kMeasured;
  if (const auto window = values.integer("--speculative-draft-window-size")) {
    if (*window <= 0)
      throw UsageError(
          fmt::format("--speculative-draft-window-size must be positive, got {}.", *window));
    draft.window = bounded(values, "--speculative-draft-window-size", 1);
  }
  draft.own = read_algorithm_flags(values);
  draft.serves_predictions = !values.on("--disable-predictions");
  const std::string path = values.text("--speculative-draft-model-path");
  if (draft.algorithm.empty() && !path.empty())
    throw UsageError({.what = "--speculative-draft-model-path",
                      .expected = "--speculative-algorithm beside it",
                      .found = "'" + path + "' alone"});
  const std::string format = values.text("--speculative-draft-load-format");
  draft.load.load_format = format.empty() ? target.load_format : format;
  draft.load.dtype = target.dtype;
  const std::string flag = "--speculative-draft-model-quantization";
  // What the target's checkpoint is, a draft model's need not be.
  if (values.given(flag))
    draft.load.quantization = quantization_of(values, flag);
  else if (target.quantization.stored_method.empty())
    draft.load.quantization = target.quantization;
  const std::string kv_flag = "--speculative-draft-kv-cache-dtype";
  draft.load.kv_dtype =
      values.given(kv_flag) ? kv_dtype_named(values.text(kv_flag), kv_flag) : target.kv_dtype;
  draft.load.seed = target.seed + 1;
  draft.load.packed_cache = target.packed_cache;
  draft.load.part = "draft";
  draft.folder = path;  // until it is found
  return draft;
}

// The flags, else SGLang's variables, of which lengths of 0 and below mean "off".
AcceptanceSimulation acceptance_simulation(const FlagValues& values,
                                           const Environment& environment) {
  AcceptanceSimulation simulation;
  std::string method = values.text("--simulate-acc-method");
  if (const auto length = values.number("--simulate-acc-len")) {
    if (*length < 1)
      throw UsageError("--simulate-acc-len: expected at least 1, found " +
                       values.text("--simulate-acc-len"));
    simulation.length = *length;
  } else if (!environment.simulate_acc_len.empty()) {
    char* end = nullptr;
    simulation.length = std::max(0.0, std::strtod(environment.simulate_acc_len.c_str(), &end));
    if (*end != '\0')
      throw UsageError({.what = "SGLANG_SIMULATE_ACC_LEN",
                        .expected = "a number",
                        .found = "'" + environment.simulate_acc_len + "'"});
    if (!environment.simulate_acc_method.empty()) method = environment.simulate_acc_method;
  }
  if (method != "match-expected" && method != "multinomial")
    throw UsageError({.what = "SGLANG_SIMULATE_ACC_METHOD",
                      .expected = "match-expected or multinomial",
                      .found = "'" + method + "'"});
  simulation.method = method == "multinomial" ? AcceptanceSimulation::Method::kMultinomial
                                              : AcceptanceSimulation::Method::kMatchExpected;
  return simulation;
}

// Variables that make every request greedy where a certain algorithm drafts.
void force_greedy(const Environment& environment, Options& options) {
  for (const Algorithm* row : algorithms()) {
    const std::string variable(row->greedy_variable);
    if (std::ranges::count(environment.greedy_variables, variable) == 0) continue;
    if (drafts_by(options.draft, row->name)) {
      options.engine.greedy = true;
    } else {
      options.notes.push_back(
          fmt::format("environment variable {} has no effect without --speculative-algorithm {}",
                      variable, row->name));
    }
  }
}

// What follows from who drafts.
void settle_drafts(const FlagValues& values, const Environment& environment, Options& options) {
  options.draft.is_unasked = upper_case(values.text("--speculative-algorithm")) == kUnasked;
  if (options.draft.is_unasked)
    options.draft.algorithm = unasked_algorithms(options.load.model_folder);
  if (!model_algorithm(options.draft).empty() && !values.given("--max-running-requests")) {
    options.engine.max_running_requests = 48;
    options.notes.push_back(
        "Max running requests is reset to 48 for speculative decoding. You can override this by "
        "explicitly setting --max-running-requests.");
  }
  for (std::string& line : algorithm_warnings(values, options.draft))
    options.warnings.push_back(std::move(line));
  force_greedy(environment, options);
}

bool has_flag(const FlagTable& table, std::string_view name) {
  for (const auto& group : table)
    for (const auto& flag : group.flags)
      if (flag.name() == name) return true;
  return false;
}

// All that flags and environment say.
Options flag_options(const FlagValues& values, const Environment& environment) {
  Options options;
  options.load.chat_template = values.text("--chat-template");
  options.load.load_format = values.text("--load-format");
  options.load.dtype = values.text("--dtype");
  options.load.quantization =
      with_head(quantization_of(values, "--quantization"), values.text("--quantization-head"),
                values.on("--quantization-scale-search"), "--quantization-head");
  options.load.kv_dtype = kv_dtype_named(values.text("--kv-cache-dtype"), "--kv-cache-dtype");
  options.load.config_overrides = json_object(values, "--json-model-override-args");
  options.load.context_length = bounded(values, "--context-length", 1);
  options.server.given_context_length = options.load.context_length.value_or(0);
  options.load.allow_longer_context = environment.allow_longer_context;
  options.load.seed = seed_of(values);
  options.load.packed_cache = values.text("--packed-cache");

  options.memory.fraction = values.number("--mem-fraction-static");
  if (options.memory.fraction && (*options.memory.fraction <= 0 || *options.memory.fraction >= 1))
    throw UsageError("--mem-fraction-static: expected a number between 0 and 1, found " +
                     values.text("--mem-fraction-static"));
  options.memory.max_total_tokens = bounded(values, "--max-total-tokens", 1);

  const std::string device = values.text("--device");
  options.backend = {.device = device == "auto" ? "cpu" : device,
                     .cpu_isa = values.text("--cpu-isa"),
                     .gemm_order = values.text("--gemm-order"),
                     .cache_folder = environment.cache};
  options.autotune = autotune_options(values, environment);
  options.threads = bounded(values, "--threads", 1, 4096).value_or(0);
  options.log_level = log_level_named(values.text("--log-level"));
  options.engine = engine_config(values, environment);
  options.engine.policy_seed = options.load.seed;
  options.draft = draft_options(values, options.load);
  options.simulation = acceptance_simulation(values, environment);
  options.server = server_config(values, options.load);
  options.server.serves_predictions = options.draft.serves_predictions;
  if (has_flag(values.table(), "--grammar-backend"))
    options.draft.serves_constraints = values.text("--grammar-backend") != "none";
  if (has_flag(values.table(), "--port")) {
    fill_http(values, options.server);
    options.sampling_defaults_of_model = values.text("--sampling-defaults") == "model";
    options.skip_warmup = values.on("--skip-server-warmup");
  }
  for (std::string& note : notes_of(values)) options.notes.push_back(std::move(note));
  if (has_flag(values.table(), "--grammar-backend"))
    if (const auto name = values.text("--grammar-backend");
        name == "xgrammar" || name == "outlines")
      options.notes.push_back(
          fmt::format("--grammar-backend {}: grammars are compiled by llguidance", name));
  options.notes.insert(options.notes.end(), environment.notes.begin(), environment.notes.end());
  options.hub_cache = hub_settings(values, environment).cache;
  return options;
}

}  // namespace

LoadOptions resolve_text_options(const FlagValues& values, const Environment& environment,
                                 DefaultModel usual) {
  LoadOptions load;
  load.chat_template = values.text("--chat-template");
  ModelSearch(values, environment, usual, {}).finish(load);
  return load;
}

OptionsOnTheWay::OptionsOnTheWay(const FlagValues& values, const Environment& environment,
                                 DefaultModel usual)
    : values_(values),
      environment_(environment),
      options_(flag_options(values, environment)),
      search_(values, environment, usual, options_.draft.algorithm) {}

Options OptionsOnTheWay::finish() {
  search_.finish(options_.load, options_.draft);
  settle_drafts(values_, environment_, options_);
  name_model(values_, options_.load, options_.server);
  if (has_flag(values_.table(), "--port"))
    options_.server.server_args = list_server_args(values_, options_);
  return options_;
}

Options resolve_options(const FlagValues& values, const Environment& environment,
                        DefaultModel usual) {
  return OptionsOnTheWay(values, environment, usual).finish();
}

}  // namespace foretoken
