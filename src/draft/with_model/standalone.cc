// STANDALONE: a small language model of the target's vocabulary.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "draft/algorithm.h"
#include "draft/with_model/draft_loading.h"
#include "draft/with_model/model_shape.h"
#include "model/decoder/load.h"
#include "model/heads/language_draft.h"
#include "model/heads/query_head.h"

namespace foretoken {
namespace {

void check_standalone(const DraftOptions& options, const ModelConfig&) {
  const ModelConfig config =
      read_model_config(options.folder, {.longer_context = LongerContext::kDraft});
  if (!config.recurrent.layers.empty())
    throw Error({"this model cannot draft", options.folder,
                 "a model whose layers all keep keys and values", config.architecture});
}

// Assistants come with a tokenizer, too.
bool recognizes_standalone(const std::string& path) {
  return is_language_model(path) && !is_query_head(path);
}

std::unique_ptr<DraftModel> load_standalone(Ops& ops, const Decoder& target,
                                            const DraftSetup& setup) {
  const DraftOptions& options = setup.options;
  warn_without_effect(options.window.has_value(), "--speculative-draft-window-size",
                      "only EAGLE-3 heads have a window");
  ModelOptions own = setup.load();
  // It reads what the target reads, position by position.
  own.context_length = target.config().context_length;
  own.longer_context = LongerContext::kDraft;
  own.others = mtp_prefixes;
  const std::int64_t vocab = target.config().vocab;
  auto decoder = load_model(ops, options.folder, own);
  auto drafted = drafted_tokens(options, std::min<std::int64_t>(vocab, decoder->config().vocab));
  return std::make_unique<LanguageDraft>(ops, std::move(decoder), vocab, std::move(drafted),
                                         own.quantization.head);
}

constexpr std::array kStandaloneTrials{
    DraftTrial{.name = "STANDALONE auto", .draft = "demo-draft"},
    DraftTrial{.name = "STANDALONE 4/1/5", .draft = "demo-draft", .shape = {4, 1, 5}},
    DraftTrial{.name = "STANDALONE 4/2/7", .draft = "demo-draft", .shape = {4, 2, 7}},
};

}  // namespace

extern constinit const Algorithm kStandalone = {
    .name = "STANDALONE",
    .help = "a small model of the same vocabulary",
    .shape = language_model_shape,
    .needs_folder = true,
    .recognizes = recognizes_standalone,
    .check = check_standalone,
    .load = load_standalone,
    .make = make_model_drafter,
    .trials = kStandaloneTrials,
};

}  // namespace foretoken
