#include "kv/kv_store.h"

namespace foretoken {

KvStore::KvStore(Ops& ops, const KvShape& shape, int num_pages) {
  layers_.reserve(static_cast<std::size_t>(shape.layers));
  for (int i = 0; i < shape.layers; ++i) {
    layers_.push_back(
        {.k = ops.alloc(shape.dtype, {num_pages, shape.kv_heads, shape.head_dim, kPageTokens}),
         .v = ops.alloc(shape.dtype, {num_pages, shape.kv_heads, kPageTokens, shape.head_dim})});
  }
}

std::size_t KvStore::bytes_per_page(const KvShape& shape) {
  const auto elements = std::size_t{2} * static_cast<std::size_t>(shape.layers) *
                        static_cast<std::size_t>(shape.kv_heads) *
                        static_cast<std::size_t>(shape.head_dim) * kPageTokens;
  return elements * dtype_bytes(shape.dtype);
}

}  // namespace foretoken
