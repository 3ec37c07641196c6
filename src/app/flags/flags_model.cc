#include "app/flags/flag_rows.h"
#include "kv/kv_dtype.h"
#include "model/config/quantization.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

FlagGroup model_flags() {
  return {
      "Model",
      {
          {.names = {"--model-path", "--model"},
           .text = "checkpoint folder, GGUF file, or a model of the hub: owner/name, or "
                   "owner/name:Q4_K_M for one quantization of a GGUF repository",
           .default_note = "the demo model"},
          {.names = {"--tokenizer-path"},
           .text = "folder, tokenizer.json, GGUF file or model of the hub that has the tokenizer",
           .default_note = "the model's"},
          {.names = {"--tokenizer-mode"},
           .support = kNoEffect,
           .text = "there is one tokenizer implementation",
           .default_value = "auto"},
          {.names = {"--skip-tokenizer-init"},
           .kind = kSwitch,
           .text = "load no tokenizer: token ids in, token ids out"},
          {.names = {"--chat-template"},
           .text = "file with a Jinja chat template, or the template itself",
           .default_note = "the model's"},
          {.names = {"--load-format"},
           .text = "dummy: random weights of the config's shape, for benchmarks",
           .default_value = "auto",
           .choices = {"auto", "safetensors", "pt", "gguf", "dummy"},
           .refused_choices = {"npcache", "bitsandbytes", "layered", "flash_rl", "remote",
                               "remote_instance", "sharded_state", "fastsafetensors"},
           .refused_reason = "not supported yet: weights are read from safetensors and GGUF files "
                             "and from PyTorch's"},
          {.names = {"--packed-cache"},
           .text = "folder that keeps packed weights of each model and format, for a faster start "
                   "the next time",
           .default_note = "none are kept"},
          {.names = {"--dtype"},
           .text = "type of the weights, cast while loading where the files hold another",
           .default_value = "auto",
           .choices = {"auto", "half", "float16", "bfloat16", "float", "float32"}},
          {.names = {"--context-length"},
           .kind = kInteger,
           .text = "most tokens of prompt and answer together",
           .default_note = "the model's"},
          {.names = {"--revision"}, .text = "branch, tag or commit of a model of the hub"},
          {.names = {"--download-dir"},
           .text = "folder of the hub's models, in the layout of huggingface_hub",
           .default_note = "HF_HUB_CACHE"},
          {.names = {"--offline"},
           .kind = kSwitch,
           .text = "download nothing; HF_HUB_OFFLINE=1 says the same"},
          {.names = {"--json-model-override-args"},
           .text = "JSON object merged over config.json",
           .default_value = "{}"},
          {.names = {"--trust-remote-code"},
           .kind = kSwitch,
           .support = kNoEffect,
           .text = "nothing remote is ever executed here"},
          {.names = {"--model-impl"},
           .support = kRefused,
           .text = "not supported: models are this program's own code",
           .default_value = "auto",
           .choices = {"auto", "sglang"}},
          {.names = {"--is-embedding"},
           .kind = kSwitch,
           .support = kNoEffect,
           .text = "/v1/embeddings is served beside text"},
          {.names = {"--quantization"},
           .text =
               "weights of 8 or 4 bits, made while loading, or what the checkpoint is already (see "
               "docs/use/quantization.md)",
           .default_note = "as they are stored",
           .choices = quantization_names(),
           .refused_choices = unread_quantizations(),
           .refused_reason = kUnreadQuantization},
          {.names = {"--quantization-head"},
           .text = "kind of the output matrix, made while loading",
           .default_note = "8 bits with --quantization, else as it is stored",
           .choices = made_quantizations()},
          {.names = {"--quantization-scale-search"},
           .kind = kSwitch,
           .text = "for --quantization: take the scales of least error, not those of the widest "
                   "range"},
          {.names = {"--kv-cache-dtype"},
           .text = "type of the KV cache: bf16, or codes of 8 bits with a scale for each token and "
                   "head; auto: the type of the weights",
           .default_value = "auto",
           .choices = kv_dtype_names(),
           .refused_choices = unread_kv_dtypes(),
           .refused_reason = kUnreadKvDtype},
          {.names = {"--enable-fp32-lm-head"},
           .kind = kSwitch,
           .support = kRefused,
           .text = "not supported yet: the output matrix has the type of the other weights"},
          {.names = {"--enable-multimodal"},
           .kind = kSwitch,
           .support = kRefused,
           .text = "not supported yet: models take text only"},
      }};
}

}  // namespace foretoken
