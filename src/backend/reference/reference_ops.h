#pragma once
// The reference backend: every operation as the plainest loop that says what it means, accumulated
// in double. The oracle of the tests and the documentation of semantics; not fast, but its results
// too depend on a row's own sequence only. Same threads and lifetimes as Ops.

#include <memory>

#include "backend/ops.h"
#include "base/threads.h"

namespace foretoken {

std::unique_ptr<Ops> make_reference_backend(ThreadPool& pool);

}  // namespace foretoken
