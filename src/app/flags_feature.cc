#include "app/flag.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

constexpr std::string_view kNoGrammar = "not supported yet: answers bound to a grammar";
constexpr std::string_view kNoLora = "not supported yet: LoRA adapters";
constexpr std::string_view kNoDisaggregation =
    "not supported yet: prompts and decodes run in one server";
constexpr std::string_view kNoDiffusion = "not supported yet: diffusion language models";

Flag refused(std::string_view name, FlagKind kind, std::string_view reason) {
  return {.names = {name}, .kind = kind, .support = kRefused, .text = reason};
}

}  // namespace

FlagGroup feature_flags() {
  return {"Further features",
          {
              {.names = {"--grammar-backend"},
               .support = kRefused,
               .text = kNoGrammar,
               .choices = {"none"}},
              refused("--constrained-json-whitespace-pattern", kText, kNoGrammar),
              refused("--constrained-json-disable-any-whitespace", kSwitch, kNoGrammar),
              refused("--enable-custom-logit-processor", kSwitch,
                      "not supported: it would run Python code of the client"),
              refused("--enable-return-hidden-states", kSwitch,
                      "not supported yet: answers hold text and logprobs"),
              refused("--enable-return-routed-experts", kSwitch,
                      "not supported yet: models with experts"),
              refused("--enable-lora", kSwitch, kNoLora),
              refused("--lora-paths", kTextList, kNoLora),
              refused("--max-lora-rank", kInteger, kNoLora),
              refused("--max-loras-per-batch", kInteger, kNoLora),
              refused("--lora-backend", kText, kNoLora),
              refused("--lora-target-modules", kTextList, kNoLora),
              {.names = {"--disaggregation-mode"},
               .support = kRefused,
               .text = kNoDisaggregation,
               .default_value = "null",
               .choices = {"null"}},
              refused("--disaggregation-transfer-backend", kText, kNoDisaggregation),
              refused("--disaggregation-bootstrap-port", kInteger, kNoDisaggregation),
              refused("--dllm-algorithm", kText, kNoDiffusion),
              refused("--dllm-algorithm-config", kText, kNoDiffusion),
          }};
}

}  // namespace foretoken
