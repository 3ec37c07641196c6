#include <algorithm>

#include "backend/host/host_states.h"
#include "backend/host/state_paths.h"
#include "base/index.h"

namespace foretoken {
namespace {

// Of one sequence in one layer: from the items of its nodes to a page that the next step reads.
class KeptStates {
 public:
  KeptStates(const StateLayer& states, const BatchSeq& seq, const SeqStates& places)
      : states_(states), page_(places.page_of_tree()), start_(seq.base + places.start_of_tree()) {}

  void run(const std::vector<std::int32_t>& path, std::int32_t root_position) {
    const std::int32_t nodes_page = page_, root = root_position - start_;
    std::int32_t item = root;
    for (const std::int32_t node : path) {
      if (item == kStateTokens) item = complete_block();
      copy(nodes_page, root + node, item);
      ++item;
    }
    if (item == kStateTokens) complete_block();
  }

 private:
  // Depths rise along a path and no node is above its depth, so no item is overwritten before it is
  // read.
  void copy(std::int32_t from_page, std::int32_t from, std::int32_t to) const {
    if (from_page == page_ && from == to) return;
    for (const Tensor* items :
         {&states_.inputs, &states_.keys, &states_.updates, &states_.decays}) {
      if (items->empty()) continue;
      const std::int64_t width = items->dim(2);
      const auto at_item = [&](std::int32_t page, std::int32_t item) {
        return items->f32() + (page * states_.items() + item) * width;
      };
      std::copy_n(at_item(from_page, from), width, at_item(page_, to));
    }
  }

  // Returns the first item of the next one.
  std::int32_t complete_block() {
    const RecurrentShape& shape = states_.shape;
    const std::int32_t next = page_ ^ 1;
    for (int head = 0; head < shape.value_heads; ++head) {
      StatePath path;
      const int key_at = shape.key_head_of(head) * shape.key_dim;
      for (std::int32_t i = 0; i < kStateTokens; ++i)
        path.add(item_of(states_, page_, i, head, key_at));
      const float* from = start_ == 0 ? nullptr : head_state(states_, page_, head);
      advance_state(state_loops(), shape, path, from, head_state(states_, next, head));
    }
    for (std::int32_t back = 1; back < shape.taps; ++back)
      std::copy_n(
          states_.inputs.f32() + (page_ * states_.items() + kStateTokens - back) * shape.channels,
          shape.channels, tail_input(states_, next, shape.taps - 1 - back));
    page_ = next;
    start_ += kStateTokens;
    return 0;
  }

  const StateLayer& states_;
  std::int32_t page_;
  std::int32_t start_;  // position of the block's first item
};

}  // namespace

StateLayer alloc_states(const AllocZeros& alloc, const KvShape& kv) {
  const RecurrentShape& shape = kv.recurrent;
  const std::int64_t pages = 2 * kv.slots, items = kStateTokens + kv.tree_nodes;
  StateLayer made;
  made.shape = shape;
  const std::int64_t kept = pages + kv.snapshots;
  made.tail = alloc(DType::kF32, {kept, shape.taps - 1, shape.channels});
  made.inputs = alloc(DType::kF32, {pages, items, shape.channels});
  if (!shape.has_state()) return made;
  const std::int64_t keys = std::int64_t{shape.key_heads} * shape.key_dim;
  const std::int64_t values = std::int64_t{shape.value_heads} * shape.value_dim;
  made.state = alloc(DType::kF32, {kept, shape.value_heads, shape.key_dim, shape.value_dim});
  made.keys = alloc(DType::kF32, {pages, items, keys});
  made.updates = alloc(DType::kF32, {pages, items, values});
  made.decays = alloc(DType::kF32, {pages, items, shape.value_heads});
  return made;
}

std::size_t host_state_bytes(const KvShape& shape) {
  const RecurrentShape& r = shape.recurrent;
  const auto layers = std::ranges::count(shape.keeps_state, true);
  const std::int64_t values = std::int64_t{r.value_heads} * r.value_dim;
  const std::int64_t item =
      r.channels + std::int64_t{r.key_heads} * r.key_dim + values + r.value_heads;
  const std::int64_t snapshot = r.state_values() + (r.taps - 1) * std::int64_t{r.channels};
  const std::int64_t page = snapshot + (kStateTokens + shape.tree_nodes) * item;
  return at(layers * (2 * shape.slots * page + shape.snapshots * snapshot)) * sizeof(float);
}

void copy_host_states(ThreadPool& pool, std::span<const StateCopy> copies,
                      std::span<const KvLayer> layers) {
  std::vector<Tensor> parts;
  for (const KvLayer& layer : layers)
    for (const Tensor* part : {&layer.states.state, &layer.states.tail})
      if (!part->empty()) parts.push_back(*part);
  pool.parallel_for(static_cast<int>(parts.size()), [&](int item, int) {
    const Tensor& part = parts[at(item)];
    const std::int64_t page = part.elements() / part.dim(0);
    for (const auto& [from, to] : copies)
      std::copy_n(part.f32() + from * page, page, part.f32() + to * page);
  });
}

void keep_states(ThreadPool& pool, const Walk& walk, const Batch& batch,
                 std::span<const KvLayer> layers) {
  std::vector<const StateLayer*> kept;
  for (const KvLayer& layer : layers)
    if (layer.states.shape.is_on()) kept.push_back(&layer.states);
  if (kept.empty()) return;
  const auto seqs = walk.seqs.size();
  pool.parallel_for(static_cast<int>(kept.size() * seqs), [&](int item, int) {
    const StateLayer& states = *kept[at(item) / seqs];
    const BatchSeq& seq = batch.seqs[at(item) % seqs];
    KeptStates(states, seq, SeqStates(batch, seq, states))
        .run(walk.seqs[at(item) % seqs].path, seq.base + seq.chain);
  });
}

}  // namespace foretoken
