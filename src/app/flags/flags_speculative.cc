#include "app/flags/flag_rows.h"
#include "draft/catalogue/algorithms.h"
#include "kv/kv_dtype.h"
#include "model/config/quantization.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

constexpr std::string_view kLossless =
    "no token is accepted that the model itself would not have chosen";
constexpr std::string_view kAllHeads =
    "a checkpoint that has heads of several depths drafts with all of them";
constexpr std::string_view kOneBackend = "there is one backend for target and draft";

// Of all that drafts; those of one algorithm are in its row.
std::vector<Flag> common_flags() {
  return {
      {.names = {"--speculative-algorithm", "--speculative-algo"},
       .text = algorithm_help(),
       .default_value = "auto"},
      {.names = {"--speculative-draft-model-path", "--speculative-draft-model",
                 "--speculative-draft"},
       .text = "checkpoint folder, GGUF file or model of the hub that drafts"},
      {.names = {"--speculative-draft-model-revision"},
       .text = "branch, tag or commit of the draft model of the hub"},
      {.names = {"--speculative-draft-load-format"},
       .text = "dummy: random weights for the draft model",
       .default_note = "the target's",
       .choices = {"auto", "safetensors", "pt", "gguf", "dummy"}},
      {.names = {"--speculative-num-steps"},
       .kind = kInteger,
       .text = "levels of the draft tree",
       .default_note = "computed"},
      {.names = {"--speculative-eagle-topk"},
       .kind = kInteger,
       .text = "children of a node; 1: a chain",
       .default_note = "computed"},
      {.names = {"--speculative-num-draft-tokens"},
       .kind = kInteger,
       .text = "nodes verified in one step, the last token of the text included",
       .default_note = "computed"},
      {.names = {"--draft-budget"},
       .text = "auto: trees of as many nodes as pay, by measured cost; full: of all nodes, always",
       .default_value = "auto",
       .choices = {"auto", "full"}},
      {.names = {"--draft-coupling"},
       .text = "above temperature 0, a draft model draws with the sampler's own noise: auto: "
               "where and as far as that has told what is drawn; always; never",
       .default_value = "auto",
       .choices = {"auto", "always", "never"}},
      {.names = {"--simulate-acc-len"},
       .kind = kNumber,
       .text = "benchmarks only, answers become wrong: accept this many tokens per step",
       .default_note = "off"},
      {.names = {"--simulate-acc-method"},
       .text = "how the tokens per step are drawn around --simulate-acc-len",
       .default_value = "match-expected",
       .choices = {"match-expected", "multinomial"}},
      idle({"--speculative-accept-threshold-single"}, kNumber, kLossless, "1.0"),
      idle({"--speculative-accept-threshold-acc"}, kNumber, kLossless, "1.0"),
      idle({"--speculative-use-rejection-sampling"}, kSwitch, kLossless),
      {.names = {"--speculative-token-map"},
       .text = "file of the tokens that a draft model or an EAGLE head drafts (FR-Spec), or all",
       .default_note = "of large vocabularies frequent ones and those of the texts"},
      idle({"--speculative-attention-mode"}, kText, kOneBackend, "prefill"),
      idle({"--speculative-draft-attention-backend"}, kText, kOneBackend),
      {.names = {"--speculative-draft-kv-cache-dtype"},
       .text = "type of the draft model's KV cache; auto: the type of the weights",
       .default_note = "as --kv-cache-dtype",
       .choices = kv_dtype_names(),
       .refused_choices = unread_kv_dtypes(),
       .refused_reason = kUnreadKvDtype},
      {.names = {"--speculative-draft-window-size", "--speculative-dflash-draft-window-size"},
       .kind = kInteger,
       .text = "positions that an EAGLE-3 head sees",
       .default_note = "all"},
      {.names = {"--speculative-draft-model-quantization"},
       .text = "the same for the draft model",
       .default_note = "as --quantization",
       .choices = quantization_names(),
       .refused_choices = unread_quantizations(),
       .refused_reason = kUnreadQuantization},
      idle({"--speculative-dsa-topk-backend"}, kText, kOneBackend, "sgl-kernel"),
      idle({"--speculative-moe-runner-backend"}, kText, kOneBackend),
      idle({"--speculative-moe-a2a-backend"}, kText, kOneBackend),
  };
}

std::vector<Flag> further_flags() {
  return {
      idle({"--enable-multi-layer-eagle"}, kSwitch, kAllHeads),
      refused({"--speculative-skip-dp-mlp-sync"}, kSwitch, kMethodNotYet),
      refused({"--speculative-adaptive"}, kSwitch, kMethodNotYet),
      refused({"--speculative-adaptive-config"}, kText, kMethodNotYet),
      refused({"--decoupled-spec-bind-endpoint"}, kText, kMethodNotYet),
      refused({"--decoupled-spec-connect-endpoints"}, kTextList, kMethodNotYet),
      refused({"--decoupled-spec-rank"}, kInteger, kMethodNotYet),
      refused({"--decoupled-spec-role"}, kText, kMethodNotYet, "null"),
      refused({"--spec-trace-dir"}, kText, kMethodNotYet),
  };
}

}  // namespace

FlagGroup speculative_flags() {
  FlagGroup group{"Speculative decoding", common_flags()};
  for (auto& more : {algorithm_flags(), further_flags()})
    group.flags.insert(group.flags.end(), more.begin(), more.end());
  return group;
}

}  // namespace foretoken
