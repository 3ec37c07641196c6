#pragma once
// Rows of the table for flags that are known by name only, in one line each. Pure functions.

#include <string_view>
#include <utility>
#include <vector>

#include "app/flags/flag.h"

namespace foretoken {

using FlagNames = std::vector<std::string_view>;

// Accepted without effect, because of `reason`.
inline Flag idle(FlagNames names, FlagKind kind, std::string_view reason,
                 std::string_view default_value = {}) {
  return {.names = std::move(names),
          .kind = kind,
          .support = Support::kNoEffect,
          .text = reason,
          .default_value = default_value};
}

// Refused with `reason`, save for the default, which asks for what is the case anyway.
inline Flag refused(FlagNames names, FlagKind kind, std::string_view reason,
                    std::string_view default_value = {}) {
  Flag flag{.names = std::move(names),
            .kind = kind,
            .support = Support::kRefused,
            .text = reason,
            .default_value = default_value};
  if (!default_value.empty()) flag.choices = {default_value};
  return flag;
}

// SGLang's types of the KV cache that there are not.
inline constexpr std::string_view kUnreadKvDtype =
    "not supported yet: keys and values are kept in 8 bits at least";

// SGLang's kinds of quantized weights that are not read.
inline constexpr std::string_view kUnreadQuantization =
    "not supported yet: of quantized checkpoints those of AWQ, GPTQ, AutoRound, compressed-tensors "
    "and FP8 are read";
inline FlagNames unread_quantizations() {
  return {"marlin",           "mxfp8", "mxfp4",    "bitsandbytes", "gguf",      "modelopt_fp4",
          "petit_nvfp4",      "qoq",   "w8a8_fp8", "w4afp8",       "moe_wna16", "quark",
          "quark_int4fp8_moe"};
}

}  // namespace foretoken
