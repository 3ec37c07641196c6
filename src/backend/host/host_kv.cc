#include <algorithm>

#include "backend/host/host_step.h"
#include "backend/kv_codes.h"
#include "base/index.h"

namespace foretoken {
namespace {

struct Move {
  std::int32_t from, to;  // KV slots
};

// In path order. Nodes ascend along a path and node n at depth d has n >= d, so no source is
// overwritten before it is read.
std::vector<Move> list_moves(const Walk& walk, const Batch& batch) {
  std::vector<Move> moves;
  for (std::size_t s = 0; s < walk.seqs.size(); ++s) {
    const std::vector<std::int32_t>& path = walk.seqs[s].path;
    const std::int32_t root_row = batch.seqs[s].first_row + batch.seqs[s].chain;
    for (std::size_t depth = 0; depth < path.size(); ++depth)
      if (path[depth] != static_cast<std::int32_t>(depth))
        moves.push_back(
            {batch.kv_slot[at(root_row + path[depth])], batch.kv_slot[at(root_row) + depth]});
  }
  return moves;
}

// How many dimensions of a key, and slots of values, lie side by side.
std::int64_t paired(const KvLayer& kv) { return kv.k.dtype() == DType::kBF16 ? 2 : 1; }

template <typename Element>
void move_slot(const KvLayer& kv, const Move& move) {
  const std::int64_t pair = paired(kv), dim = kv.k.dim(2);
  auto* k = static_cast<Element*>(kv.k.data());
  auto* v = static_cast<Element*>(kv.v.data());
  for (std::int64_t h = 0; h < kv.k.dim(1); ++h) {
    const Element* from = k + host_key_at(kv, move.from, h, 0);
    Element* to = k + host_key_at(kv, move.to, h, 0);
    for (std::int64_t d = 0; d < dim; d += pair)
      std::copy_n(from + d * kPageTokens, pair, to + d * kPageTokens);
    from = v + host_value_at(kv, move.from, h, 0);
    to = v + host_value_at(kv, move.to, h, 0);
    for (std::int64_t d = 0; d < dim; ++d) to[d * pair] = from[d * pair];
  }
}

// Elements before those of a head in the page of a slot.
std::int64_t head_at(const KvLayer& kv, std::int32_t slot, std::int64_t head) {
  return (slot / kPageTokens * kv.k.dim(1) + head) * kv.k.dim(2) * kPageTokens;
}

// scales [pages, heads, kPageTokens]
void move_scales(const Tensor& scales, const Move& move) {
  if (scales.empty()) return;
  const std::int64_t heads = scales.dim(1);
  const auto at_head = [&](std::int32_t slot, std::int64_t h) {
    return scales.f32() + (slot / kPageTokens * heads + h) * kPageTokens + slot % kPageTokens;
  };
  for (std::int64_t h = 0; h < heads; ++h) *at_head(move.to, h) = *at_head(move.from, h);
}

}  // namespace

std::int64_t host_key_at(const KvLayer& kv, std::int32_t slot, std::int64_t head, std::int64_t d) {
  const std::int64_t pair = paired(kv), s = slot % kPageTokens;
  return head_at(kv, slot, head) + d / pair * pair * kPageTokens + s * pair + d % pair;
}

std::int64_t host_value_at(const KvLayer& kv, std::int32_t slot, std::int64_t head,
                           std::int64_t d) {
  const std::int64_t pair = paired(kv), s = slot % kPageTokens;
  return head_at(kv, slot, head) + (s / pair * kv.k.dim(2) + d) * pair + s % pair;
}

std::vector<KvLayer> alloc_host_kv(const AllocZeros& alloc, const KvShape& shape, int num_pages) {
  CHECK(shape.dtype != DType::kBF16 || shape.head_dim % 2 == 0)
      << "bf16 KV of heads of " << shape.head_dim;
  std::vector<KvLayer> layers;
  for (int i = 0; i < shape.layers; ++i) {
    layers.push_back(
        {.k = alloc(shape.dtype, {num_pages, shape.kv_heads, shape.head_dim, kPageTokens}),
         .v = alloc(shape.dtype, {num_pages, shape.kv_heads, kPageTokens, shape.head_dim})});
    if (!is_kv_code(shape.dtype)) continue;
    const Shape scales{num_pages, shape.kv_heads, kPageTokens};
    layers.back().k_scale = alloc(DType::kF32, scales);
    layers.back().v_scale = alloc(DType::kF32, scales);
  }
  return layers;
}

std::size_t host_kv_page_bytes(const KvShape& shape) {
  const auto rows = std::size_t{2} * at(shape.layers) * at(shape.kv_heads) * kPageTokens;
  const std::size_t scale = is_kv_code(shape.dtype) ? sizeof(float) : 0;
  return rows * (at(shape.head_dim) * dtype_bytes(shape.dtype) + scale);
}

void keep_kv(ThreadPool& pool, const Walk& walk, const Batch& batch,
             std::span<const KvLayer> layers) {
  const std::vector<Move> moves = list_moves(walk, batch);
  if (moves.empty()) return;
  pool.parallel_for(static_cast<int>(layers.size()), [&](int layer, int) {
    const KvLayer& kv = layers[at(layer)];
    for (const Move& move : moves) {
      const std::size_t bytes = dtype_bytes(kv.k.dtype());
      if (bytes == 1)
        move_slot<std::uint8_t>(kv, move);
      else if (bytes == 2)
        move_slot<std::uint16_t>(kv, move);
      else
        move_slot<float>(kv, move);
      move_scales(kv.k_scale, move);
      move_scales(kv.v_scale, move);
    }
  });
}

}  // namespace foretoken
