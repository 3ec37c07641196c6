#pragma once
// How long a context a model may serve. The default is what SGLang derives from config.json, save
// that dynamic NTK scaling stays off until a longer context is asked for: it has one rotary table
// for the whole server, and the unscaled one is the better within the trained length.

#include <cstdint>
#include <optional>

#include "model/config/model_config.h"

namespace foretoken {

// Served when nothing is asked for, up to kMostUnasked: tables of rotations have a row for each
// position.
inline constexpr std::int64_t kMostUnasked = 1 << 20;
std::int64_t default_context_length(const ModelConfig& config);

// What the model was trained for or its rotary scaling reaches.
std::int64_t longest_context_length(const ModelConfig& config);

// kDraft: a draft model follows its target as far as that goes.
enum class LongerContext { kRefuse, kWarn, kDraft };

// The context length for a request (--context-length); beyond the longest one it is an Error or a
// warning.
std::int64_t choose_context_length(const ModelConfig& config, std::optional<std::int64_t> requested,
                                   LongerContext longer);

}  // namespace foretoken
