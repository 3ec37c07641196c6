#pragma once
// A token and its logit with the sampler's noise added.

#include "base/types.h"

namespace foretoken {

struct NoisyToken {
  Token token = kNoToken;
  float value = 0.0F;
};

}  // namespace foretoken
