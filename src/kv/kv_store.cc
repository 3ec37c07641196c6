#include "kv/kv_store.h"

#include "base/index.h"

namespace foretoken {

KvStore::KvStore(Ops& ops, const KvShape& shape, int num_pages) {
  layers_.reserve(at(shape.layers));
  for (int i = 0; i < shape.layers; ++i) {
    layers_.push_back(
        {.k = ops.alloc(shape.dtype, {num_pages, shape.kv_heads, shape.head_dim, kPageTokens}),
         .v = ops.alloc(shape.dtype, {num_pages, shape.kv_heads, kPageTokens, shape.head_dim})});
  }
}

std::size_t KvStore::bytes_per_page(const KvShape& shape) {
  const auto elements =
      std::size_t{2} * at(shape.layers) * at(shape.kv_heads) * at(shape.head_dim) * kPageTokens;
  return elements * dtype_bytes(shape.dtype);
}

}  // namespace foretoken
