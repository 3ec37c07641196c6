#include <algorithm>
#include <cstdint>

#include <sys/mman.h>

#include "backend/host/host_states.h"
#include "backend/host/host_step.h"
#include "backend/kv_codes.h"
#include "base/index.h"
#include "base/system_page.h"

namespace foretoken {
namespace {

// How many dimensions of a key, and slots of values, lie side by side.
std::int64_t paired(const KvLayer& kv) { return kv.k.dtype() == DType::kBF16 ? 2 : 1; }

template <typename Element>
void move_slot(const KvLayer& kv, const KvMove& move) {
  const std::int64_t pair = paired(kv), dim = kv.k.dim(2);
  auto* k = static_cast<Element*>(kv.k.data());
  auto* v = static_cast<Element*>(kv.v.data());
  for (std::int64_t h = 0; h < kv.k.dim(1); ++h) {
    const Element* from = k + host_key_at(kv, move.from, h, 0);
    Element* to = k + host_key_at(kv, move.to, h, 0);
    for (std::int64_t d = 0; d < dim; d += pair)
      std::copy_n(from + d * kPageTokens, pair, to + d * kPageTokens);
    if (v == nullptr) continue;
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
void move_scales(const Tensor& scales, const KvMove& move) {
  if (scales.empty()) return;
  const std::int64_t heads = scales.dim(1);
  const auto at_head = [&](std::int32_t slot, std::int64_t h) {
    return scales.f32() + (slot / kPageTokens * heads + h) * kPageTokens + slot % kPageTokens;
  };
  for (std::int64_t h = 0; h < heads; ++h) *at_head(move.to, h) = *at_head(move.from, h);
}

}  // namespace

// In path order. Nodes ascend along a path and node n at depth d has n >= d, so no source is
// overwritten before it is read.
std::vector<KvMove> kv_moves(const Walk& walk, const Batch& batch) {
  std::vector<KvMove> moves;
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
  std::vector<KvLayer> layers;
  for (int i = 0; i < shape.layers; ++i) {
    KvLayer& layer = layers.emplace_back();
    if (shape.keeps_state_of(i)) {
      layer.states = alloc_states(alloc, shape);
      continue;
    }
    const auto [heads, dim] = shape.heads_of(i);
    CHECK(shape.dtype != DType::kBF16 || dim % 2 == 0) << "bf16 KV of heads of " << dim;
    const Shape scales{num_pages, heads, kPageTokens};
    layer.k = alloc(shape.dtype, {num_pages, heads, dim, kPageTokens});
    if (is_kv_code(shape.dtype)) layer.k_scale = alloc(DType::kF32, scales);
    if (!shape.has_values) continue;
    layer.v = alloc(shape.dtype, {num_pages, heads, kPageTokens, dim});
    if (is_kv_code(shape.dtype)) layer.v_scale = alloc(DType::kF32, scales);
  }
  return layers;
}

void release_host_kv(std::span<const KvLayer> layers, std::span<const PageId> pages) {
  const auto release = [](const Tensor& part, PageId first, PageId end) {
    const std::uintptr_t page = system_page();
    if (part.empty()) return;
    const std::uintptr_t data = reinterpret_cast<std::uintptr_t>(part.data());
    const std::size_t bytes = part.bytes() / at(part.dim(0));
    const std::uintptr_t begin = round_up(data + at(first) * bytes, page);
    const std::uintptr_t last = (data + at(end) * bytes) / page * page;
    // A hint: what the system keeps is not missed.
    if (begin < last) madvise(reinterpret_cast<void*>(begin), last - begin, MADV_DONTNEED);
  };
  for (std::size_t i = 0; i < pages.size();) {
    const PageId first = pages[i];
    PageId end = first;
    while (i < pages.size() && pages[i] == end) ++i, ++end;
    for (const KvLayer& kv : layers)
      for (const Tensor* part : {&kv.k, &kv.v, &kv.k_scale, &kv.v_scale})
        release(*part, first, end);
  }
}

std::size_t host_kv_page_bytes(const KvShape& shape) {
  const std::size_t scale = is_kv_code(shape.dtype) ? sizeof(float) : 0;
  std::size_t of_token = 0;
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (shape.keeps_state_of(layer)) continue;
    const auto [heads, dim] = shape.heads_of(layer);
    of_token += at(heads) * (at(dim) * dtype_bytes(shape.dtype) + scale);
  }
  return of_token * (shape.has_values ? 2 : 1) * kPageTokens;
}

void keep_kv(ThreadPool& pool, const Walk& walk, const Batch& batch,
             std::span<const KvLayer> layers) {
  keep_states(pool, walk, batch, layers);
  const std::vector<KvMove> moves = kv_moves(walk, batch);
  if (moves.empty()) return;
  pool.parallel_for(static_cast<int>(layers.size()), [&](int layer, int) {
    const KvLayer& kv = layers[at(layer)];
    if (kv.states.shape.is_on()) return;
    for (const KvMove& move : moves) {
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
