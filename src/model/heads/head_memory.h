#pragma once
// What forwards of a draft head take from the scratch of a step, as upper bounds in bytes: what
// forward_memory.h is for whole decoders. Pure functions of a head's sizes.

#include <cstddef>
#include <cstdint>

#include "backend/forward_size.h"
#include "model/heads/head_config.h"

namespace foretoken {

// HeadDraft::features and HeadDraft::forward of `rows` rows.
std::size_t head_feature_bytes(const HeadConfig& config, std::int64_t rows);
std::size_t head_bytes(const HeadConfig& config, std::int64_t rows);
ForwardSize head_size(const HeadConfig& config, std::int64_t rows);

}  // namespace foretoken
