#pragma once
// Draft heads of every family with made-up weights: what they propose is nonsense, how they are run
// is not. For tests only.

#include <memory>
#include <optional>
#include <ostream>

#include "backend/ops.h"
#include "model/draft_model.h"

namespace foretoken {

// kMimos, kNextns: a head for each of two and of three depths. kQueries: layers that read keys and
// values of the target; where the target has none, kEagle.
enum class RandomHead { kEagle, kFrSpec, kEagle3, kMimo, kNextn, kMimos, kNextns, kQueries };
void PrintTo(RandomHead head, std::ostream* out);

// The target outlives it. kv_dtype: of its keys and values; absent: that of the target's weights.
std::unique_ptr<DraftModel> random_head(Ops& ops, const Decoder& target, RandomHead kind,
                                        const Quantization& quantization = {},
                                        std::optional<DType> kv_dtype = {});

}  // namespace foretoken
