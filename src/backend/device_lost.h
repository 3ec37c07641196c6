#pragma once
// DeviceLost: a device answers no more, and what lay on it is gone. All calls of its backend throw
// this from then on; only a backend that is made anew, with all weights, computes again.

#include "base/error.h"

namespace foretoken {

class DeviceLost : public Error {
 public:
  using Error::Error;
};

}  // namespace foretoken
