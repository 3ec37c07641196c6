#include "kv/kv_store.h"

#include <algorithm>
#include <cstring>
#include <vector>

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

TEST(KvStore, layers_may_have_heads_of_several_sizes) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "cpu"}, pool);
  for (const DType dtype : {DType::kBF16, DType::kI8}) {
    const KvShape shape{.layers = 2,
                        .kv_heads = 9,
                        .head_dim = 9,
                        .dtype = dtype,
                        .layer_heads = {{2, 8}, {1, 24}}};
    const KvStore store(*ops, shape, 5);
    EXPECT_EQ(store.layer(0).k.shape(), (Shape{5, 2, 8, kPageTokens}));
    EXPECT_EQ(store.layer(1).v.shape(), (Shape{5, 1, kPageTokens, 24}));
    std::size_t bytes = 0;
    for (const KvLayer& layer : store.layers())
      for (const Tensor* part : {&layer.k, &layer.v, &layer.k_scale, &layer.v_scale})
        if (!part->empty()) bytes += part->bytes();
    EXPECT_EQ(bytes, 5 * ops->kv_page_bytes(shape));
  }
}

TEST(KvStore, released_pages_lose_what_they_hold_and_others_keep_it) {
  ThreadPool pool(1, false);
  for (const DType dtype : {DType::kBF16, DType::kI8}) {
    const auto ops = make_backend({.device = "cpu"}, pool);
    // Pages of the model are smaller than those of the system, which hold several.
    const KvStore store(*ops, {.layers = 1, .kv_heads = 1, .head_dim = 32, .dtype = dtype}, 64);
    const KvLayer& layer = store.layer(0);
    for (const Tensor* part : {&layer.k, &layer.v, &layer.k_scale, &layer.v_scale})
      if (!part->empty()) std::memset(part->data(), 7, part->bytes());
    const auto is_kept = [](const Tensor& part, int page) {
      const std::size_t bytes = part.bytes() / 64;
      const auto* first = static_cast<const char*>(part.data()) + at(page) * bytes;
      return std::all_of(first, first + bytes, [](char byte) { return byte == 7; });
    };
    std::vector<PageId> released;
    for (PageId page = 1; page < 60; ++page)
      if (page != 30) released.push_back(page);
    ops->release_kv(released);
    for (const Tensor* part : {&layer.k, &layer.v, &layer.k_scale, &layer.v_scale}) {
      if (part->empty()) continue;
      for (const int page : {0, 30, 60, 63}) EXPECT_TRUE(is_kept(*part, page)) << page;
    }
    EXPECT_FALSE(is_kept(layer.k, 15));
    EXPECT_FALSE(is_kept(layer.v, 45));
  }
}

}  // namespace
}  // namespace foretoken
