#include "app/flags/flag_rows.h"
#include "kv/kv_dtype.h"
#include "model/config/quantization.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

constexpr std::string_view kNotYet =
    "not supported yet: drafts by this method (the answers would be the same without these flags)";
constexpr std::string_view kLossless =
    "no token is accepted that the model itself would not have chosen";
constexpr std::string_view kAllHeads =
    "a checkpoint that has heads of several depths drafts with all of them";
constexpr std::string_view kOneBackend = "there is one backend for target and draft";

constexpr std::string_view kIsolation =
    "whose texts drafts come from: of the request, of the same cache salt or API key, of all "
    "(timing can tell whether others had the same words)";

Flag ngram(std::string_view name, std::string_view default_value, std::string_view text) {
  return {.names = {name}, .kind = kInteger, .text = text, .default_value = default_value};
}

}  // namespace

FlagGroup speculative_flags() {
  return {
      "Speculative decoding",
      {
          {.names = {"--speculative-algorithm", "--speculative-algo"},
           .text =
               "EAGLE, EAGLE3: a draft head; NEXTN: the head in the target's checkpoint; "
               "STANDALONE: a small model of the same vocabulary; NGRAM, SUFFIX: earlier texts; "
               "several share their trees: EAGLE3+SUFFIX"},
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
           .text = "file of the tokens that an EAGLE head drafts (FR-Spec)",
           .default_note = "all"},
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
          refused({"--speculative-dflash-block-size"}, kInteger, kNotYet),
          refused({"--speculative-dspark-block-size"}, kInteger, kNotYet),
          refused({"--speculative-dspark-sps-table-path"}, kText, kNotYet),
          refused({"--speculative-dspark-confidence-sts-path"}, kText, kNotYet),
          refused({"--speculative-dspark-align-verify-tokens-to-graph-tier"}, kSwitch, kNotYet),
          idle({"--enable-multi-layer-eagle"}, kSwitch, kAllHeads),
          refused({"--speculative-skip-dp-mlp-sync"}, kSwitch, kNotYet),
          refused({"--speculative-adaptive"}, kSwitch, kNotYet),
          refused({"--speculative-adaptive-config"}, kText, kNotYet),
          refused({"--decoupled-spec-bind-endpoint"}, kText, kNotYet),
          refused({"--decoupled-spec-connect-endpoints"}, kTextList, kNotYet),
          refused({"--decoupled-spec-rank"}, kInteger, kNotYet),
          refused({"--decoupled-spec-role"}, kText, kNotYet, "null"),
          refused({"--spec-trace-dir"}, kText, kNotYet),
          ngram("--speculative-ngram-min-match-window-size", "1",
                "tokens that must agree with an earlier text before drafts are taken from it"),
          ngram("--speculative-ngram-max-match-window-size", "12",
                "tokens at the end of the text that are looked up; also the default of "
                "--speculative-num-draft-tokens"),
          ngram("--speculative-ngram-min-bfs-breadth", "1",
                "children of a node where the longest end of the text was found"),
          ngram("--speculative-ngram-max-bfs-breadth", "10",
                "children of a node where only a short end was found"),
          {.names = {"--speculative-ngram-match-type"},
           .text = "BFS: what followed last first; PROB: what followed most often",
           .default_value = "BFS",
           .choices = {"BFS", "PROB"}},
          {.names = {"--speculative-ngram-max-trie-depth", "--speculative-ngram-branch-length"},
           .kind = kInteger,
           .text = "tokens of the longest run that is remembered",
           .default_value = "18"},
          ngram("--speculative-ngram-capacity", "10000000",
                "nodes of the memory of runs, some 50 bytes each"),
          {.names = {"--speculative-ngram-isolation"},
           .text = kIsolation,
           .default_value = "key",
           .choices = {"request", "key", "shared"}},
          {.names = {"--speculative-ngram-external-corpus-path"},
           .text = "texts to draft from besides: a JSONL file, each line a JSON string; more are "
                   "added at /add_external_corpus"},
          ngram("--speculative-ngram-external-sam-budget", "0",
                "nodes of a tree that come from these texts; 0: none"),
          ngram("--speculative-ngram-external-corpus-max-tokens", "10000000",
                "tokens of all these texts together, 8 bytes each"),
          {.names = {"--speculative-suffix-max-tree-depth"},
           .kind = kInteger,
           .text = "tokens of the longest run that is counted",
           .default_value = "24"},
          {.names = {"--speculative-suffix-max-cached-requests"},
           .kind = kInteger,
           .text = "finished answers that are remembered; 0: drafts come from the request alone",
           .default_value = "10000"},
          {.names = {"--speculative-suffix-max-spec-factor"},
           .kind = kNumber,
           .text = "drafts for each token that agrees with an earlier text, at most",
           .default_value = "1.0"},
          {.names = {"--speculative-suffix-min-token-prob"},
           .kind = kNumber,
           .text = "least probability of a draft, by how often it followed",
           .default_value = "0.1"},
          {.names = {"--speculative-suffix-capacity"},
           .kind = kInteger,
           .text = "tokens of all texts that are kept, some 100 bytes each; the oldest answers "
                   "leave first",
           .default_value = "2000000"},
          {.names = {"--speculative-suffix-isolation"},
           .text = kIsolation,
           .default_value = "key",
           .choices = {"request", "key", "shared"}},
          {.names = {"--disable-predictions"},
           .kind = kSwitch,
           .text = "do not draft from the `prediction` of a chat request"},
      }};
}

}  // namespace foretoken
