#pragma once
// What several groups of the table have in common: reasons, and values that SGLang knows and this
// program does not. Pure functions.

#include <string_view>

#include "app/flags/flag_table.h"

namespace foretoken {

inline constexpr std::string_view kNoGraphs = "there are no CUDA graphs on a CPU";
inline constexpr std::string_view kOwnKernels = "the program chooses its own kernels at start";

// SGLang's types of the KV cache that there are not.
inline constexpr std::string_view kUnreadKvDtype =
    "not supported yet: keys and values are kept in 8 bits at least";

// SGLang's kinds of quantized weights that are not read.
inline constexpr std::string_view kUnreadQuantization =
    "not supported yet: of quantized checkpoints those of AWQ, GPTQ, AutoRound, "
    "compressed-tensors, "
    "FP8 and GGUF are read";
inline FlagNames unread_quantizations() {
  return {"marlin", "mxfp8",    "mxfp4",  "bitsandbytes", "modelopt_fp4", "petit_nvfp4",
          "qoq",    "w8a8_fp8", "w4afp8", "moe_wna16",    "quark",        "quark_int4fp8_moe"};
}

}  // namespace foretoken
