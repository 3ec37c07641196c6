#include "backend/backend.h"

#include "backend/reference/reference_ops.h"

namespace foretoken {

std::unique_ptr<Ops> make_backend(const BackendConfig& config, ThreadPool& pool) {
  if (config.device == "reference") return make_reference_backend(pool);
  throw Error({.what = "unknown device",
               .where = "--device",
               .expected = "cpu or reference",
               .found = config.device});
}

}  // namespace foretoken
