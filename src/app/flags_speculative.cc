#include "app/flag.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

constexpr std::string_view kNotYet =
    "not supported yet: drafts by this method (the answers would be the same without these flags)";
constexpr std::string_view kLossless =
    "no token is accepted that the model itself would not have chosen";
constexpr std::string_view kOneBackend = "there is one backend for target and draft";

Flag later(std::vector<std::string_view> names, FlagKind kind,
           std::string_view default_value = {}) {
  return {.names = std::move(names),
          .kind = kind,
          .support = kRefused,
          .text = kNotYet,
          .default_value = default_value};
}

Flag without_effect(std::string_view name, FlagKind kind, std::string_view reason,
                    std::string_view default_value = {}) {
  return {.names = {name},
          .kind = kind,
          .support = kNoEffect,
          .text = reason,
          .default_value = default_value};
}

}  // namespace

FlagGroup speculative_flags() {
  return {
      "Speculative decoding",
      {
          {.names = {"--speculative-algorithm", "--speculative-algo"},
           .text = "EAGLE, EAGLE3: a draft head; NEXTN: the head in the target's checkpoint; "
                   "STANDALONE: a small model of the same vocabulary"},
          {.names = {"--speculative-draft-model-path", "--speculative-draft-model",
                     "--speculative-draft"},
           .text = "checkpoint folder or hub id of the draft model"},
          {.names = {"--speculative-draft-model-revision"},
           .text = "branch, tag or commit of the draft model's hub id"},
          {.names = {"--speculative-draft-load-format"},
           .text = "dummy: random weights for the draft model",
           .default_note = "the target's",
           .choices = {"auto", "safetensors", "pt", "dummy"}},
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
           .text =
               "auto: trees of as many nodes as pay, by measured cost; full: of all nodes, always",
           .default_value = "auto",
           .choices = {"auto", "full"}},
          {.names = {"--simulate-acc-len"},
           .kind = kNumber,
           .text = "benchmarks only, answers become wrong: accept so many tokens per step",
           .default_note = "off"},
          {.names = {"--simulate-acc-method"},
           .text = "how the tokens per step are drawn around --simulate-acc-len",
           .default_value = "match-expected",
           .choices = {"match-expected", "multinomial"}},
          without_effect("--speculative-accept-threshold-single", kNumber, kLossless, "1.0"),
          without_effect("--speculative-accept-threshold-acc", kNumber, kLossless, "1.0"),
          without_effect("--speculative-use-rejection-sampling", kSwitch, kLossless),
          {.names = {"--speculative-token-map"},
           .text = "file of the tokens that an EAGLE head drafts (FR-Spec)",
           .default_note = "all"},
          without_effect("--speculative-attention-mode", kText, kOneBackend, "prefill"),
          without_effect("--speculative-draft-attention-backend", kText, kOneBackend),
          {.names = {"--speculative-draft-kv-cache-dtype"},
           .support = kRefused,
           .text = "not supported yet: the KV cache has the type of the weights",
           .choices = {"auto"}},
          {.names = {"--speculative-draft-window-size", "--speculative-dflash-draft-window-size"},
           .kind = kInteger,
           .text = "positions that an EAGLE-3 head sees",
           .default_note = "all"},
          {.names = {"--speculative-draft-model-quantization"},
           .support = kRefused,
           .text = "not supported yet: quantized weights",
           .choices = {"unquant"}},
          without_effect("--speculative-moe-runner-backend", kText, kOneBackend),
          without_effect("--speculative-moe-a2a-backend", kText, kOneBackend),
          later({"--speculative-dflash-block-size"}, kInteger),
          later({"--speculative-dspark-block-size"}, kInteger),
          later({"--speculative-dspark-sps-table-path"}, kText),
          later({"--speculative-dspark-confidence-sts-path"}, kText),
          later({"--speculative-dspark-align-verify-tokens-to-graph-tier"}, kSwitch),
          later({"--enable-multi-layer-eagle"}, kSwitch),
          later({"--speculative-skip-dp-mlp-sync"}, kSwitch),
          later({"--speculative-adaptive"}, kSwitch),
          later({"--speculative-adaptive-config"}, kText),
          later({"--decoupled-spec-bind-endpoint"}, kText),
          later({"--decoupled-spec-connect-endpoints"}, kTextList),
          later({"--decoupled-spec-rank"}, kInteger),
          later({"--decoupled-spec-role"}, kText),
          later({"--spec-trace-dir"}, kText),
          later({"--speculative-ngram-min-bfs-breadth"}, kInteger, "1"),
          later({"--speculative-ngram-max-bfs-breadth"}, kInteger, "10"),
          later({"--speculative-ngram-match-type"}, kText, "BFS"),
          later({"--speculative-ngram-max-trie-depth", "--speculative-ngram-branch-length"},
                kInteger, "18"),
          later({"--speculative-ngram-capacity"}, kInteger, "10000000"),
          later({"--speculative-ngram-min-match-window-size"}, kInteger, "1"),
          later({"--speculative-ngram-max-match-window-size"}, kInteger, "12"),
          later({"--speculative-ngram-external-corpus-path"}, kText),
          later({"--speculative-ngram-external-sam-budget"}, kInteger, "0"),
          later({"--speculative-ngram-external-corpus-max-tokens"}, kInteger, "10000000"),
      }};
}

}  // namespace foretoken
