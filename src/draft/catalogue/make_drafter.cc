#include "draft/catalogue/make_drafter.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/log.h"
#include "batch/logit_slices.h"
#include "checkpoint/head_weights.h"
#include "checkpoint/token_map.h"
#include "draft/catalogue/union_drafter.h"
#include "draft/from_text/constraint_drafter.h"
#include "draft/from_text/ngram/ngram_drafter.h"
#include "draft/from_text/suffix/suffix_drafter.h"
#include "draft/pace/measured_pace.h"
#include "draft/pace/simulated_pace.h"
#include "draft/with_model/model_drafter.h"
#include "model/decoder/forward_memory.h"
#include "model/heads/head_chain.h"
#include "model/heads/head_draft.h"
#include "model/heads/head_tensors.h"
#include "model/runner.h"

namespace foretoken {
namespace {

[[noreturn]] void refuse_without_folder(const DraftOptions& options) {
  throw Error({.what = "speculative algorithm " + model_algorithm(options) + " needs a draft model",
               .where = "--speculative-draft-model-path"});
}

void warn_without_effect(bool is_given, const char* flag, const char* reason) {
  if (is_given) log_warning("{} has no effect: {}.", flag, reason);
}

// Those that are drafted; none: all.
std::vector<Token> hot_tokens(const Decoder& target, const DraftOptions& options) {
  if (options.token_map.empty()) return {};
  return read_token_map(options.token_map, target.config().vocab);
}

std::unique_ptr<DraftModel> load_standalone(Ops& ops, const Decoder& target,
                                            const DraftOptions& options) {
  if (options.folder.empty()) refuse_without_folder(options);
  warn_without_effect(options.window.has_value(), "--speculative-draft-window-size",
                      "only EAGLE-3 heads have a window");
  warn_without_effect(!options.token_map.empty(), "--speculative-token-map",
                      "only EAGLE heads use one");
  ModelOptions load = options.load;
  // It reads what the target reads, position by position.
  load.context_length = target.config().context_length;
  load.longer_context = LongerContext::kWarn;
  load.others = mtp_prefixes;
  return std::make_unique<Runner>(ops, load_model(ops, options.folder, load),
                                  target.config().vocab);
}

// The MTP heads among the tensors of a checkpoint of a model with this config, as many as trees
// have levels; null: there is none.
std::unique_ptr<DraftModel> make_mtp_heads(Ops& ops, const Decoder& target,
                                           const DraftOptions& options, const ModelConfig& config,
                                           const WeightSource& weights) {
  auto heads = find_mtp_heads(weights.names(), config);
  if (heads.empty()) return nullptr;
  for (HeadConfig& head : heads) head.layer.kv_dtype = options.load.kv_dtype;
  const auto wanted = at(std::max(options.steps.value_or(kMaxTreeNodes), 1));
  if (heads.size() > wanted) heads.resize(wanted);
  if (heads.size() > 1) log_info("Draft heads: {}, one for each depth.", heads.size());
  auto made = make_heads(ops, heads, weights, target, hot_tokens(target, options),
                         options.load.quantization);
  finish_packed(weights);
  return made;
}

// The head that came with the target. Its tensors lie among others that are no business of ours.
std::unique_ptr<DraftModel> load_own_head(Ops& ops, const Decoder& target,
                                          const DraftOptions& options) {
  ModelOptions load = options.load;
  load.show_progress = false;
  check_stored_method(target.config(), load, options.target_folder);
  const auto weights = open_weights(options.target_folder, load);
  auto head = make_mtp_heads(ops, target, options, target.config(), *weights);
  if (head) return head;
  throw Error({.what = "the target's checkpoint carries no draft head",
               .where = "--speculative-draft-model-path",
               .expected = "a draft head made for the target",
               .found = options.folder.empty() ? "none" : options.folder});
}

std::unique_ptr<DraftModel> load_head(Ops& ops, const Decoder& target, const DraftOptions& options,
                                      HeadFamily family) {
  HeadConfig config = read_head_config(options.folder, family, target.config());
  check_stored_method(config.layer, options.load, options.folder);
  config.layer.kv_dtype = options.load.kv_dtype;
  const bool is_eagle3 = family == HeadFamily::kEagle3;
  auto weights = open_weights(options.folder, options.load);
  check_quantization(config, *weights);
  const auto names = weights->names();
  if (!is_eagle3 && !names.empty())
    if (auto head = make_mtp_heads(ops, target, options, config.layer, *weights)) return head;
  weights = head_weights(std::move(weights));
  if (!names.empty() && std::ranges::count(weights->names(), "norm.weight") > 0 &&
      std::ranges::count(weights->names(), "fc.weight") == 0 && !is_eagle3)
    throw Error({.what = "the draft model is a language model, not a draft head",
                 .where = options.folder,
                 .expected = "a head with fc.weight, or --speculative-algorithm STANDALONE"});
  fit_to_tensors(config, *weights);
  if (is_eagle3 && options.window)
    config.layer.layer_window.assign(at(config.layer.layers), *options.window);
  auto head = std::make_unique<HeadDraft>(
      ops, config, *weights, target, is_eagle3 ? std::vector<Token>{} : hot_tokens(target, options),
      options.load.quantization);
  finish_packed(*weights);
  return head;
}

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

std::unique_ptr<DraftModel> load_eagle(Ops& ops, const Decoder& target,
                                       const DraftOptions& options) {
  warn_without_effect(options.window.has_value(), "--speculative-draft-window-size",
                      "only EAGLE-3 heads have a window");
  if (options.folder.empty() || is_same_folder(options.folder, options.target_folder))
    return load_own_head(ops, target, options);
  return load_head(ops, target, options, HeadFamily::kEagle);
}

std::unique_ptr<DraftModel> load_eagle3(Ops& ops, const Decoder& target,
                                        const DraftOptions& options) {
  if (options.folder.empty()) refuse_without_folder(options);
  warn_without_effect(!options.token_map.empty(), "--speculative-token-map",
                      "an EAGLE-3 head has a vocabulary of its own");
  return load_head(ops, target, options, HeadFamily::kEagle3);
}

void warn_without_model(const DraftOptions& options) {
  constexpr const char* kReason = "no draft model is run";
  warn_without_effect(!options.folder.empty(), "--speculative-draft-model-path", kReason);
  warn_without_effect(options.window.has_value(), "--speculative-draft-window-size", kReason);
  warn_without_effect(!options.token_map.empty(), "--speculative-token-map", kReason);
}

std::unique_ptr<StepPace> make_pace(const DraftOptions& options) {
  if (options.budget == TreeBudget::kFull) return std::make_unique<StepPace>();
  if (!options.simulated_chances.empty())
    return std::make_unique<SimulatedPace>(options.simulated_chances);
  return std::make_unique<MeasuredPace>();
}

}  // namespace

std::unique_ptr<DraftModel> load_draft_model(Ops& ops, const Decoder& target,
                                             const DraftOptions& options) {
  if (options.algorithm.empty()) return nullptr;
  const std::string algorithm = model_algorithm(options);
  if (algorithm.empty()) {
    warn_without_model(options);
    return nullptr;
  }
  log_info("Draft model: {}.", options.folder.empty() ? options.target_folder : options.folder);
  if (algorithm == "STANDALONE") return load_standalone(ops, target, options);
  if (algorithm == "EAGLE") return load_eagle(ops, target, options);
  return load_eagle3(ops, target, options);
}

std::size_t draft_bytes_per_page(const LoadOps& ops, const DraftModel& model) {
  return ops.kv_page_bytes(model.kv_shape()) +
         at(model.feature_width() + model.carried_width()) * sizeof(float);
}

std::size_t draft_bytes_per_slot(const DraftModel& model) {
  return DraftReader::bytes_per_slot(model);
}

bool drafts_from_corpora(const DraftOptions& options) {
  return drafts_by(options, "NGRAM") && options.ngram.corpus_drafts > 0;
}

std::size_t draft_fixed_bytes(const DraftOptions& options) {
  const auto bytes_of = [](const SuffixOptions& suffix) {
    return SuffixTrees::bytes_for(suffix.capacity, suffix.max_depth);
  };
  std::size_t bytes = 0;
  if (drafts_by(options, "NGRAM")) bytes += NgramTrie::bytes_for(options.ngram.capacity);
  if (drafts_from_corpora(options)) bytes += Corpora::bytes(options.ngram.corpus_tokens);
  if (drafts_by(options, "SUFFIX"))
    bytes += bytes_of(options.suffix);
  else if (options.serves_predictions)
    bytes += bytes_of(prediction_options(options));
  return bytes;
}

// What is read are the rows of the target and the roots behind them, and what sequences catch up
// with; then come the levels below the first, which the roots give. Logits are released at once.
std::size_t draft_step_bytes(const DraftModel& model, const TreeShape& asked, std::int64_t rows,
                             int num_slots) {
  const TreeShape shape = needed_shape(asked);
  const std::int64_t kept = std::int64_t{num_slots} * kCatchUpTokens;
  const std::int64_t read = rows + num_slots + kept;
  const std::int64_t level = std::int64_t{num_slots} * shape.topk;
  const auto levels = static_cast<std::size_t>(std::max(shape.steps - 1, 0));
  const auto slice = std::min<std::int64_t>(level, logit_slice_rows(model.logit_width()));
  const int carried = model.carried_width();
  return rows_bytes(read, model.feature_width()) + rows_bytes(num_slots, carried) +
         model.feature_bytes(rows) + model.feature_bytes(kept) + model.forward_bytes(read) +
         rows_bytes(num_slots, model.hidden_width()) +
         levels * (rows_bytes(level, carried > 0 ? carried : model.feature_width()) +
                   model.forward_bytes(level)) +
         rows_bytes(slice, model.logit_width());
}

ForwardSize draft_forward_size(const DraftModel& model, const TreeShape& shape, std::int64_t rows,
                               int num_slots) {
  return model.forward_size(std::max(rows + std::int64_t{num_slots} * (1 + kCatchUpTokens),
                                     std::int64_t{num_slots} * needed_shape(shape).topk));
}

std::unique_ptr<Drafter> make_drafter(Ops& ops, std::unique_ptr<DraftModel> model,
                                      const DraftOptions& options, const DraftPlan& plan,
                                      int num_pages, int num_slots,
                                      std::shared_ptr<StepPace> pace) {
  if (model) model->allocate_kv(num_pages);
  if (!pace) pace = make_pace(options);
  return join_drafters(options, plan, num_slots, std::move(pace),
                       [&](const TreeShape& shape, std::shared_ptr<DraftPace> part) {
                         return std::make_unique<ModelDrafter>(
                             ops, std::move(model), shape, num_pages, num_slots, std::move(part),
                             kLogitSliceBytes, options.coupling);
                       });
}

std::unique_ptr<Drafter> join_drafters(const DraftOptions& options, const DraftPlan& plan,
                                       int num_slots, std::shared_ptr<StepPace> all_pace,
                                       const MakeModelPart& make_model_part) {
  if (plan.parts.empty()) return make_null_drafter();
  auto all = std::make_unique<UnionDrafter>(num_slots, std::move(all_pace));
  for (const DraftPart& part : plan.parts)
    all->add([&](std::shared_ptr<DraftPace> pace) -> std::unique_ptr<Drafter> {
      const int nodes = part.shape.nodes;
      if (part.name == "NGRAM")
        return std::make_unique<NgramDrafter>(options.ngram, nodes, num_slots, std::move(pace));
      if (part.name == "SUFFIX")
        return std::make_unique<SuffixDrafter>(options.suffix, nodes, num_slots, std::move(pace));
      if (part.name == kConstraints)
        return std::make_unique<ConstraintDrafter>(nodes, kConstraintDrafts, num_slots,
                                                   std::move(pace));
      if (part.name == kPredictions)
        return std::make_unique<SuffixDrafter>(prediction_options(options), nodes, num_slots,
                                               std::move(pace));
      return make_model_part(part.shape, std::move(pace));
    });
  return all;
}

}  // namespace foretoken
