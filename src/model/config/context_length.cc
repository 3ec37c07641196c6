#include "model/config/context_length.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/log.h"

namespace foretoken {
namespace {

using Kind = RopeScaling::Kind;

std::int64_t scaled(const RopeScaling& rope, std::int64_t length) {
  constexpr double kLongest = 1 << 30;
  return static_cast<std::int64_t>(
      std::min(kLongest, rope.factor.value_or(1.0) * static_cast<double>(length)));
}

}  // namespace

std::int64_t default_context_length(const ModelConfig& config) {
  const bool extends_trained_length =
      config.rope.kind == Kind::kLinear || config.rope.kind == Kind::kYarn;
  // With an original length beside it, max_position is the extended length already. So it is where
  // the scaling is of some layers only.
  const bool is_extended =
      config.rope.original_max_position.has_value() || config.local_rope_theta > 0;
  if (extends_trained_length && !is_extended) return scaled(config.rope, config.max_position);
  return config.max_position;
}

std::int64_t longest_context_length(const ModelConfig& config) {
  const std::int64_t usual = default_context_length(config);
  switch (config.rope.kind) {
    case Kind::kDynamic:
      return scaled(config.rope, config.max_position);
    case Kind::kYarn:
      return std::max(usual, scaled(config.rope, config.rope.original_max_position.value_or(0)));
    default:
      return usual;
  }
}

std::int64_t choose_context_length(const ModelConfig& config, std::optional<std::int64_t> requested,
                                   LongerContext longer) {
  if (!requested) {
    const std::int64_t usual = default_context_length(config);
    if (usual <= kMostUnasked) return usual;
    log_info("The model is made for {} positions; {} are served unless --context-length says more.",
             usual, kMostUnasked);
    return kMostUnasked;
  }
  if (*requested < 1)
    throw Error(
        {"bad context length", "--context-length", "at least 1", std::to_string(*requested)});
  const std::int64_t derived = longest_context_length(config);
  if (*requested <= derived) return *requested;
  if (longer == LongerContext::kDraft) {
    log_info(
        "The draft model is made for {} positions, the target for {}: drafts of what lies beyond "
        "may be worse. Answers do not change.",
        derived, *requested);
    return *requested;
  }
  const std::string text =
      "User-specified context_length (" + std::to_string(*requested) +
      ") is greater than the derived context_length (" + std::to_string(derived) +
      "). This may lead to incorrect model outputs. Note that the derived context_length may "
      "differ from max_position_embeddings in the model's config.";
  if (longer == LongerContext::kRefuse)
    throw Error(text +
                " To allow overriding this maximum, set the env var "
                "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1");
  log_warning("{}", text);
  return *requested;
}

}  // namespace foretoken
