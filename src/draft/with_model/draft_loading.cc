#include "draft/with_model/draft_loading.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/index.h"
#include "base/letters.h"
#include "base/log.h"
#include "base/model_files.h"
#include "batch/logit_slices.h"
#include "checkpoint/head_weights.h"
#include "checkpoint/model_files.h"
#include "checkpoint/token_map.h"
#include "draft/with_model/model_drafter.h"
#include "model/decoder/halved_pairs.h"
#include "model/decoder/stacked_experts.h"
#include "model/heads/head_chain.h"
#include "model/heads/head_draft.h"
#include "model/heads/head_tensors.h"
#include "model/heads/query_head.h"

namespace foretoken {
namespace {

// Of a checkpoint that carries heads beside or without the target that it is of.
std::unique_ptr<WeightSource> open_heads(const std::string& path, const ModelOptions& load,
                                         const ModelConfig& target) {
  auto weights = stacked_experts(open_weights(path, load), target.experts.stacks);
  return target.pairs_neighbours ? halved_pairs(std::move(weights), target) : std::move(weights);
}

// The MTP heads among the tensors of a checkpoint of a model with this config; null: there is none.
std::unique_ptr<DraftModel> make_mtp_heads(Ops& ops, const Decoder& target, const DraftSetup& setup,
                                           const ModelConfig& config, const WeightSource& weights) {
  const DraftOptions& options = setup.options;
  auto heads = find_mtp_heads(weights.names(), config);
  if (heads.empty()) return nullptr;
  for (HeadConfig& head : heads) head.layer.kv_dtype = options.load.kv_dtype;
  const auto wanted = at(std::max(setup.plan.model.steps, 1));
  if (heads.size() > wanted) heads.resize(wanted);
  if (heads.size() > 1) log_info("Draft heads: {}, one for each depth.", heads.size());
  auto made = make_heads(ops, heads, weights, target,
                         drafted_tokens(options, target.config().vocab), options.load.quantization);
  finish_packed(weights);
  return made;
}

}  // namespace

void warn_without_effect(bool is_given, const char* flag, const char* reason) {
  if (is_given) log_warning("{} has no effect: {}.", flag, reason);
}

bool is_language_model(const std::string& path) {
  try {
    const auto files = open_model_files(path);
    return files->has("config.json") &&
           (files->has("tokenizer.json") || files->has("tokenizer.model"));
  } catch (const Error&) {
    return false;
  }
}

bool is_head_called(const std::string& path, std::string_view word) {
  if (is_model_file(path) || is_language_model(path)) return false;
  try {
    const auto config = read_json_file(FolderFiles(path), "config.json");
    if (!config) return false;
    const auto names = FileFields(*config, path).strings("architectures");
    const std::string name = names && !names->empty() ? lower_case(names->front()) : "";
    return name.find(word) != std::string::npos;
  } catch (const Error&) {
    return false;
  }
}

std::optional<DraftedTokens> drafted_tokens(const DraftOptions& options, std::int64_t vocab) {
  if (options.token_map == kAllTokens) return std::nullopt;
  if (options.token_map.empty()) return DraftedTokens::usual(vocab);
  return DraftedTokens(read_token_map(options.token_map, vocab), vocab, {});
}

void require_folder(const DraftOptions& options, std::string_view algorithm) {
  if (options.folder.empty())
    throw Error({.what = "speculative algorithm " + std::string(algorithm) + " needs a draft model",
                 .where = "--speculative-draft-model-path"});
}

// Its tensors lie among others that are no business of ours.
std::unique_ptr<DraftModel> load_own_head(Ops& ops, const Decoder& target,
                                          const DraftSetup& setup) {
  const DraftOptions& options = setup.options;
  ModelOptions load = setup.load();
  load.show_progress = false;
  check_stored_method(target.config(), load, options.target_folder);
  const auto weights = open_heads(options.target_folder, load, target.config());
  auto head = make_mtp_heads(ops, target, setup, target.config(), *weights);
  if (head) return head;
  throw Error({.what = "the target's checkpoint carries no draft head",
               .where = "--speculative-draft-model-path",
               .expected = "a draft head made for the target",
               .found = options.folder.empty() ? "none" : options.folder});
}

void check_head(const DraftOptions& options, const ModelConfig& target, HeadFamily family) {
  read_head_config(options.folder, family, target);
}

std::unique_ptr<DraftModel> load_query_head(Ops& ops, const Decoder& target,
                                            const DraftSetup& setup) {
  const DraftOptions& options = setup.options;
  const ModelOptions load = setup.load();
  const QueryHeadConfig config = read_query_head(options.folder, target.config());
  check_stored_method(config.layer, load, options.folder);
  const auto weights = open_weights(options.folder, load);
  auto head = std::make_unique<QueryHead>(ops, config, *weights, target, load.quantization);
  finish_packed(*weights);
  return head;
}

std::unique_ptr<DraftModel> load_head(Ops& ops, const Decoder& target, const DraftSetup& setup,
                                      HeadFamily family) {
  const DraftOptions& options = setup.options;
  const ModelOptions load = setup.load();
  HeadConfig config = read_head_config(options.folder, family, target.config());
  check_stored_method(config.layer, load, options.folder);
  config.layer.kv_dtype = load.kv_dtype;
  const bool is_eagle3 = family == HeadFamily::kEagle3;
  auto weights = open_heads(options.folder, load, config.layer);
  check_quantization(config, *weights);
  const auto names = weights->names();
  if (!is_eagle3 && !names.empty())
    if (auto head = make_mtp_heads(ops, target, setup, config.layer, *weights)) return head;
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
      ops, config, *weights, target,
      is_eagle3 ? std::nullopt : drafted_tokens(options, target.config().vocab), load.quantization);
  finish_packed(*weights);
  return head;
}

std::unique_ptr<Drafter> make_model_drafter(PartSetup part) {
  return std::make_unique<ModelDrafter>(*part.ops, std::move(part.model), part.shape,
                                        part.num_pages, part.num_slots, std::move(part.pace),
                                        kLogitSliceBytes, part.setup.options.coupling);
}

}  // namespace foretoken
