#pragma once
// UsageError: the command line is wrong (exit code 2). Any other Error means "cannot start" (1).

#include "base/error.h"

namespace foretoken {

class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace foretoken
