#include "backend/host/state_paths.h"

#include <algorithm>
#include <bit>

#include "base/index.h"
#include "batch/lanes.h"

namespace foretoken {

void StatePath::add(const Item& item) {
  keys.push_back(item.key);
  updates.push_back(item.update);
  decays.push_back(item.decay);
}

void StatePath::clear() {
  keys.clear();
  updates.clear();
  decays.clear();
}

void advance_state(const StateLoops& loops, const RecurrentShape& shape, const StatePath& path,
                   const float* from, float* to) {
  const float last = path.decays.back();
  const int items = static_cast<int>(path.size());
  std::vector<float> weights(path.size()), weighted(path.size() * at(shape.key_dim));
  loops.decays(path.decays.data(), items, last, weights.data());
  std::vector<const float*> keys;
  for (std::size_t i = 0; i < path.size(); ++i) {
    float* const key = weighted.data() + i * at(shape.key_dim);
    loops.scale(key, path.keys[i], weights[i], shape.key_dim);
    keys.push_back(key);
  }
  loops.advance({.from = from,
                 .to = to,
                 .key_dim = shape.key_dim,
                 .value_dim = shape.value_dim,
                 .decay = exp_nonpositive(last),
                 .keys = keys.data(),
                 .updates = path.updates.data(),
                 .items = items});
}

float* head_state(const StateLayer& states, std::int32_t page, int head) {
  const RecurrentShape& shape = states.shape;
  return states.state.f32() +
         (std::int64_t{page} * shape.value_heads + head) * shape.key_dim * shape.value_dim;
}

float* tail_input(const StateLayer& states, std::int32_t page, std::int32_t place) {
  const RecurrentShape& shape = states.shape;
  return states.tail.f32() + (std::int64_t{page} * (shape.taps - 1) + place) * shape.channels;
}

StatePath::Item item_of(const StateLayer& states, std::int32_t page, std::int32_t item, int head,
                        int key_at) {
  const std::int64_t row = page * states.items() + item;
  return {.key = states.keys.f32() + row * states.keys.dim(2) + key_at,
          .update = states.updates.f32() + row * states.updates.dim(2) +
                    std::int64_t{head} * states.shape.value_dim,
          .decay = states.decays.f32()[row * states.shape.value_heads + head]};
}

SeqStates::SeqStates(const Batch& batch, const BatchSeq& seq, const StateLayer& states)
    : batch_(batch),
      seq_(seq),
      states_(states),
      start_(state_block(seq.base) * kStateTokens),
      tree_start_(state_block(seq.base + seq.chain) * kStateTokens) {}

std::int32_t SeqStates::page_of_tree() const {
  return tree_start_ == start_ ? seq_.state_page : seq_.state_page ^ 1;
}

std::int32_t SeqStates::item(std::int32_t place) const {
  return std::max(seq_.base + place - tree_start_, -1);
}

std::int32_t SeqStates::position(std::int32_t place) const {
  return place < 0 ? seq_.base + place : batch_.position[at(seq_.first_row + place)];
}

std::uint64_t SeqStates::above(std::int32_t place) const {
  const std::int32_t node = place - seq_.chain;
  return node < 0 ? 0 : batch_.mask[at(seq_.first_row + place)] & ~(std::uint64_t{1} << node);
}

std::int32_t SeqStates::before(std::int32_t place) const {
  if (place <= seq_.chain) return place - 1;
  return seq_.chain + std::bit_width(above(place)) - 1;
}

const float* SeqStates::input(const Tensor& inputs, std::int32_t place) const {
  if (place >= 0) return inputs.row_f32(seq_.first_row + place);
  const std::int32_t position = seq_.base + place;
  if (position < 0) return nullptr;
  if (position < start_)
    return tail_input(states_, seq_.state_page, states_.shape.taps - 1 - (start_ - position));
  return states_.inputs.f32() +
         (seq_.state_page * states_.items() + position - start_) * states_.shape.channels;
}

std::int32_t SeqStates::end_of_block(std::int32_t place) const {
  const std::int32_t next = (state_block(seq_.base + place) + 1) * kStateTokens;
  return std::min(next - seq_.base, seq_.chain);
}

bool SeqStates::completes_block(std::int32_t place) const {
  return (position(place) + 1) % kStateTokens == 0;
}

std::int32_t SeqStates::last_of_block_before(std::int32_t place) const {
  const std::int32_t start = state_block(position(place)) * kStateTokens;
  if (start == tree_start_) return -1;
  std::uint64_t nodes = above(place);
  while (position(seq_.chain + std::bit_width(nodes) - 1) >= start) nodes &= ~std::bit_floor(nodes);
  return std::bit_width(nodes) - 1;
}

std::vector<std::int32_t> SeqStates::nodes_above(std::int32_t place, std::int32_t last) const {
  std::vector<std::int32_t> found;
  for (std::uint64_t nodes = above(place); nodes != 0; nodes &= nodes - 1)
    if (std::countr_zero(nodes) > last) found.push_back(std::countr_zero(nodes));
  return found;
}

}  // namespace foretoken
