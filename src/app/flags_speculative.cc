#include "app/flag.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

constexpr std::string_view kNoDrafts =
    "not supported yet: speculative decoding (the answers would be the same without these flags)";

Flag spec(std::vector<std::string_view> names, FlagKind kind, std::string_view default_value = {}) {
  return {.names = std::move(names),
          .kind = kind,
          .support = kRefused,
          .text = kNoDrafts,
          .default_value = default_value};
}

}  // namespace

FlagGroup speculative_flags() {
  return {"Speculative decoding",
          {
              spec({"--speculative-algorithm", "--speculative-algo"}, kText),
              spec({"--speculative-draft-model-path", "--speculative-draft-model",
                    "--speculative-draft"},
                   kText),
              spec({"--speculative-draft-model-revision"}, kText),
              spec({"--speculative-draft-load-format"}, kText),
              spec({"--speculative-num-steps"}, kInteger),
              spec({"--speculative-eagle-topk"}, kInteger),
              spec({"--speculative-num-draft-tokens"}, kInteger),
              spec({"--speculative-accept-threshold-single"}, kNumber, "1.0"),
              spec({"--speculative-accept-threshold-acc"}, kNumber, "1.0"),
              spec({"--speculative-use-rejection-sampling"}, kSwitch),
              spec({"--speculative-token-map"}, kText),
              spec({"--speculative-attention-mode"}, kText, "prefill"),
              spec({"--speculative-draft-attention-backend"}, kText),
              spec({"--speculative-draft-kv-cache-dtype"}, kText),
              spec({"--speculative-draft-window-size", "--speculative-dflash-draft-window-size"},
                   kInteger),
              spec({"--speculative-draft-model-quantization"}, kText),
              spec({"--speculative-moe-runner-backend"}, kText),
              spec({"--speculative-moe-a2a-backend"}, kText),
              spec({"--speculative-dflash-block-size"}, kInteger),
              spec({"--speculative-dspark-block-size"}, kInteger),
              spec({"--speculative-dspark-sps-table-path"}, kText),
              spec({"--speculative-dspark-confidence-sts-path"}, kText),
              spec({"--speculative-dspark-align-verify-tokens-to-graph-tier"}, kSwitch),
              spec({"--enable-multi-layer-eagle"}, kSwitch),
              spec({"--speculative-skip-dp-mlp-sync"}, kSwitch),
              spec({"--speculative-adaptive"}, kSwitch),
              spec({"--speculative-adaptive-config"}, kText),
              spec({"--decoupled-spec-bind-endpoint"}, kText),
              spec({"--decoupled-spec-connect-endpoints"}, kTextList),
              spec({"--decoupled-spec-rank"}, kInteger),
              spec({"--decoupled-spec-role"}, kText),
              spec({"--spec-trace-dir"}, kText),
              spec({"--speculative-ngram-min-bfs-breadth"}, kInteger, "1"),
              spec({"--speculative-ngram-max-bfs-breadth"}, kInteger, "10"),
              spec({"--speculative-ngram-match-type"}, kText, "BFS"),
              spec({"--speculative-ngram-max-trie-depth", "--speculative-ngram-branch-length"},
                   kInteger, "18"),
              spec({"--speculative-ngram-capacity"}, kInteger, "10000000"),
              spec({"--speculative-ngram-min-match-window-size"}, kInteger, "1"),
              spec({"--speculative-ngram-max-match-window-size"}, kInteger, "12"),
              spec({"--speculative-ngram-external-corpus-path"}, kText),
              spec({"--speculative-ngram-external-sam-budget"}, kInteger, "0"),
              spec({"--speculative-ngram-external-corpus-max-tokens"}, kInteger, "10000000"),
          }};
}

}  // namespace foretoken
