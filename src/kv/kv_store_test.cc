#include "kv/kv_store.h"

#include <gtest/gtest.h>

#include "backend/backend.h"

namespace foretoken {
namespace {

TEST(KvStore, has_one_key_and_one_value_tensor_per_layer_in_the_layout_of_the_kernels) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  const KvShape shape{.layers = 3, .kv_heads = 2, .head_dim = 8, .dtype = DType::kBF16};
  const KvStore store(*ops, shape, 5);
  ASSERT_EQ(store.layers().size(), 3U);
  std::size_t bytes = 0;
  for (const KvLayer& layer : store.layers()) {
    EXPECT_EQ(layer.k.shape(), (Shape{5, 2, 8, kPageTokens}));
    EXPECT_EQ(layer.v.shape(), (Shape{5, 2, kPageTokens, 8}));
    EXPECT_EQ(layer.k.dtype(), DType::kBF16);
    bytes += layer.k.bytes() + layer.v.bytes();
  }
  EXPECT_EQ(bytes, 5 * ops->kv_page_bytes(shape));
  EXPECT_NE(store.layer(0).k.data(), store.layer(1).k.data());
}

}  // namespace
}  // namespace foretoken
