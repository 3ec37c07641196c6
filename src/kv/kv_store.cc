#include "kv/kv_store.h"

namespace foretoken {

KvStore::KvStore(LoadOps& ops, const KvShape& shape, int num_pages)
    : layers_(ops.alloc_kv(shape, num_pages)) {}

}  // namespace foretoken
