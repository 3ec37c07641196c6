#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

constexpr std::string_view kNoLora = "not supported yet: LoRA adapters";
constexpr std::string_view kNoDisaggregation =
    "not supported yet: prompts and decodes run in one server";
constexpr std::string_view kNoDiffusion = "not supported yet: diffusion language models";

constexpr std::string_view kTextAndLogprobs = "not supported yet: answers hold text and logprobs";
constexpr std::string_view kNoScoring = "not supported yet: several items scored at once";
constexpr std::string_view kNoOutlines = "there is no cache of grammars";
constexpr std::string_view kNoAdapters = "there are no adapters";
constexpr std::string_view kNoDllm = "there are no diffusion language models";
constexpr std::string_view kNoRelease = "not supported yet: memory is held until the server ends";
constexpr std::string_view kNoTraining =
    "not supported yet: the bits of a training system's kernels";

}  // namespace

FlagGroup feature_flags() {
  return {
      "Further features",
      {
          {.names = {"--grammar-backend"},
           .text = "what compiles grammars; 'none': requests for them are refused",
           .default_value = "llguidance",
           .choices = {"llguidance", "none", "xgrammar", "outlines"}},
          {.names = {"--constrained-json-whitespace-pattern"},
           .text = "regular expression of what may stand between the tokens of constrained JSON",
           .default_note = "a space, or a line break and the indentation of the depth"},
          {.names = {"--constrained-json-disable-any-whitespace"},
           .kind = kSwitch,
           .text = "constrained JSON has one space after commas and colons, and none elsewhere"},
          {.names = {"--bind-tool-arguments"},
           .text = "calls of which tools are bound to their schemas, once they have begun",
           .default_value = "all",
           .choices = {"all", "strict"}},
          refused({"--enable-custom-logit-processor"}, kSwitch,
                  "not supported: it would run Python code of the client"),
          {.names = {"--enable-return-hidden-states"},
           .kind = kSwitch,
           .text = "serve return_hidden_states: the states behind the model's final norm"},
          refused({"--enable-return-routed-experts"}, kSwitch,
                  "not supported yet: experts are not reported"),
          refused({"--enable-lora"}, kSwitch, kNoLora),
          refused({"--lora-paths"}, kTextList, kNoLora),
          refused({"--max-lora-rank"}, kInteger, kNoLora),
          refused({"--max-loras-per-batch"}, kInteger, kNoLora),
          refused({"--lora-backend"}, kText, kNoLora),
          refused({"--lora-target-modules"}, kTextList, kNoLora),
          {.names = {"--disaggregation-mode"},
           .support = kRefused,
           .text = kNoDisaggregation,
           .default_value = "null",
           .choices = {"null"}},
          refused({"--disaggregation-transfer-backend"}, kText, kNoDisaggregation),
          refused({"--disaggregation-bootstrap-port"}, kInteger, kNoDisaggregation),
          refused({"--dllm-algorithm"}, kText, kNoDiffusion),
          refused({"--dllm-algorithm-config"}, kText, kNoDiffusion),
          refused({"--return-hidden-states-mode"}, kText, kTextAndLogprobs),
          refused({"--enable-return-indexer-topk"}, kSwitch, kTextAndLogprobs),
          refused({"--enable-mis"}, kSwitch, kNoScoring),
          refused({"--multi-item-scoring-delimiter"}, kInteger, kNoScoring),
          idle({"--disable-outlines-disk-cache", "--disable-disk-cache"}, kSwitch, kNoOutlines),
          refused({"--enable-lora-overlap-loading"}, kSwitch, kNoLora),
          refused({"--max-loaded-loras"}, kInteger, kNoLora),
          refused({"--lora-eviction-policy"}, kText, kNoLora, "lru"),
          refused({"--max-lora-chunk-size"}, kInteger, kNoLora, "16"),
          refused({"--experts-shared-outer-loras"}, kSwitch, kNoLora),
          idle({"--no-experts-shared-outer-loras"}, kSwitch, kNoAdapters),
          refused({"--lora-use-virtual-experts"}, kSwitch, kNoLora),
          refused({"--lora-strict-loading"}, kSwitch, kNoLora),
          idle({"--no-lora-strict-loading"}, kSwitch, kNoAdapters),
          refused({"--lora-drain-wait-threshold"}, kNumber, kNoLora, "0.0"),
          idle({"--dllm-fdfo"}, kSwitch, kNoDllm),
          idle({"--no-dllm-fdfo"}, kSwitch, kNoDllm),
          refused({"--disaggregation-ib-device"}, kText, kNoDisaggregation),
          refused({"--disaggregation-decode-enable-radix-cache"}, kSwitch, kNoDisaggregation),
          refused({"--disaggregation-decode-enable-offload-kvcache"}, kSwitch, kNoDisaggregation),
          refused({"--disaggregation-decode-retraction-backup"}, kText, kNoDisaggregation),
          refused({"--disaggregation-decode-extra-slots"}, kInteger, kNoDisaggregation),
          refused({"--disaggregation-decode-polling-interval"}, kInteger, kNoDisaggregation, "1"),
          refused({"--disaggregation-decode-tp"}, kInteger, kNoDisaggregation),
          refused({"--disaggregation-decode-dp"}, kInteger, kNoDisaggregation),
          refused({"--disaggregation-prefill-pp"}, kInteger, kNoDisaggregation),
          refused({"--num-reserved-decode-tokens"}, kInteger, kNoDisaggregation, "512"),
          refused({"--optimistic-prefill-attempts"}, kInteger, kNoDisaggregation, "0"),
          refused({"--pdlb-url"}, kText, kNoDisaggregation),
          refused({"--enable-pdmux"}, kSwitch, kNoDisaggregation),
          refused({"--pdmux-config-path"}, kText, kNoDisaggregation),
          refused({"--sm-group-num"}, kInteger, kNoDisaggregation, "8"),
          refused({"--enable-weights-cpu-backup"}, kSwitch, kNoRelease),
          refused({"--enable-draft-weights-cpu-backup"}, kSwitch, kNoRelease),
          refused({"--rl-on-policy-target"}, kText, kNoTraining),
      }};
}

}  // namespace foretoken
