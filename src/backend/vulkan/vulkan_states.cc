#include "backend/vulkan/vulkan_states.h"

#include <algorithm>
#include <cmath>

#include "backend/host/host_states.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::int64_t kLanesOfStates = 64;  // of a workgroup of the shaders

std::uint32_t count_of(std::int64_t number) { return static_cast<std::uint32_t>(number); }
Address address_if(const Tensor& tensor) { return tensor.empty() ? 0 : address_of(tensor); }

// But for what is of a batch.
StateLayerAt layer_at(const StateLayer& states) {
  const RecurrentShape& shape = states.shape;
  return {.mixed = 0,
          .item_keys = address_of(states.keys),
          .row_updates = 0,
          .item_updates = address_of(states.updates),
          .row_decays = 0,
          .item_decays = address_of(states.decays),
          .state = address_of(states.state),
          .made = 0,
          .seqs = 0,
          .rows = 0,
          .paths = 0,
          .dt = 0,
          .beta = 0,
          .skip = 0,
          .to = 0,
          .channels = count_of(shape.channels),
          .query_at = count_of(shape.first.query),
          .key_at = count_of(shape.first.key),
          .value_at = count_of(shape.first.value),
          .heads = count_of(shape.value_heads),
          .key_heads = count_of(shape.key_heads),
          .key_dim = count_of(shape.key_dim),
          .value_dim = count_of(shape.value_dim),
          .takes_turns = shape.takes_turns ? 1U : 0U,
          .corrects = shape.corrects ? 1U : 0U,
          .has_skip = 0};
}

}  // namespace

// Of rows: what the convolution makes, updates, dt and decays. Of nodes that end a block and have
// children: a state.
std::size_t VulkanStates::workspace_bytes(const ForwardSize& size) {
  const RecurrentShape& shape = size.recurrent;
  if (!shape.has_state()) return 0;
  const std::int64_t heads = shape.value_heads, values = heads * shape.value_dim;
  return at(size.rows * (shape.channels + values + 2 * heads) +
            size.branch_nodes * shape.state_values()) *
         sizeof(float);
}

VulkanStates::SentMoves VulkanStates::send(const RowMoves& moves) {
  if (moves.from.empty()) return {};
  return {context_.recorder.send(std::span(moves.from)),
          context_.recorder.send(std::span(moves.to)), std::ssize(moves.from)};
}

void VulkanStates::move(const SentMoves& moves, Address from, std::int64_t stride, Address to,
                        std::int64_t width) {
  if (moves.count == 0) return;
  context_.recorder.dispatch(context_.pipelines.of(Shader::kMoveRows, 1),
                             MoveRowsCall{from, to, moves.from, moves.to, count_of(moves.count),
                                          count_of(width), count_of(stride), count_of(width), 0},
                             {ceil_div(width, kLanesOfStates), 1});
}

const VulkanStates::Known& VulkanStates::known(const Batch& batch, const StateLayer& states) {
  for (const auto& other : known_)
    if (other->program.is_of(batch, counts_of(states))) return *other;
  Known& made = *known_.emplace_back(std::make_unique<Known>());
  made.program = make_state_program(batch, states);
  const auto sent = [&](const auto& list) {
    return list.empty() ? 0 : context_.recorder.send(std::span(list));
  };
  const StateProgram& program = made.program;
  made.tokens = sent(program.tokens);
  made.before = sent(program.before);
  made.seqs = sent(program.seqs);
  made.rows = sent(program.rows);
  made.paths = sent(program.paths);
  for (std::size_t i = 0; i < 3; ++i) made.tails[i] = send(program.tails[i]);
  made.items = send(program.items);
  return made;
}

void VulkanStates::recur(const RecurrentRows& rows, const RecurrentWeights& weights,
                         const Batch& batch, const StateLayer& states, const Tensor& out) {
  const RecurrentShape& shape = states.shape;
  const std::int64_t count = out.dim(0), heads = shape.value_heads;
  expect_recurrent(rows, states, out);
  if (batch.rows == 0) return;
  const Known& lists = known(batch, states);
  const auto temp = [&](std::int64_t width) { return scratch_.alloc(DType::kF32, {count, width}); };
  Mixed mixed{.channels = out, .updates = {}, .dt = {}, .decays = {}};
  if (shape.has_state())
    mixed = {.channels = temp(shape.channels),
             .updates = temp(heads * shape.value_dim),
             .dt = temp(heads),
             .decays = temp(heads)};
  mix(lists, rows, weights, states, mixed, out);
  if (shape.has_state()) walk_rows(lists, rows, weights, states, mixed, out);
  leave(lists, rows, states, mixed);
}

void VulkanStates::mix(const Known& known, const RecurrentRows& rows,
                       const RecurrentWeights& weights, const StateLayer& states,
                       const Mixed& mixed, const Tensor& out) {
  const RecurrentShape& shape = states.shape;
  const std::int64_t count = out.dim(0), heads = shape.value_heads;
  Recorder& recorder = context_.recorder;
  recorder.dispatch(context_.pipelines.of(Shader::kRecurMix),
                    RecurMixCall{.rows = address_of(rows.inputs),
                                 .items = address_of(states.inputs),
                                 .tails = address_if(states.tail),
                                 .taps = address_of(weights.taps),
                                 .bias = address_if(weights.taps_bias),
                                 .tokens = known.tokens,
                                 .to = address_of(mixed.channels),
                                 .channels = count_of(shape.channels),
                                 .count = count_of(shape.taps),
                                 .has_bias = weights.taps_bias.empty() ? 0U : 1U,
                                 .has_silu = weights.has_silu ? 1U : 0U},
                    {ceil_div(std::int64_t{shape.channels}, kLanesOfStates), count});
  if (!shape.has_state()) return;
  if (shape.normalises_qk)
    recorder.dispatch(context_.pipelines.of(Shader::kRecurNorm),
                      RecurNormCall{.mixed = address_of(mixed.channels),
                                    .channels = count_of(shape.channels),
                                    .heads = count_of(shape.key_heads),
                                    .dim = count_of(shape.key_dim),
                                    .query = count_of(shape.first.query),
                                    .key = count_of(shape.first.key),
                                    .factor = 1.0F / std::sqrt(static_cast<float>(shape.key_dim))},
                      {ceil_div(2 * std::int64_t{shape.key_heads}, kLanesOfStates), count});
  recorder.dispatch(context_.pipelines.of(Shader::kRecurDecay),
                    RecurDecayCall{.dt_in = address_of(rows.dt),
                                   .bias = address_of(weights.dt_bias),
                                   .rate = address_of(weights.rate),
                                   .items = address_of(states.decays),
                                   .before = known.before,
                                   .seqs = known.seqs,
                                   .dt = address_of(mixed.dt),
                                   .decays = address_of(mixed.decays),
                                   .heads = count_of(heads),
                                   .least = shape.least_dt,
                                   .most = shape.most_dt},
                    {ceil_div(heads, kLanesOfStates), std::ssize(known.program.seqs)});
}

void VulkanStates::walk_rows(const Known& known, const RecurrentRows& rows,
                             const RecurrentWeights& weights, const StateLayer& states,
                             const Mixed& mixed, const Tensor& out) {
  const RecurrentShape& shape = states.shape;
  StateLayerAt layer = layer_at(states);
  layer.mixed = address_of(mixed.channels);
  layer.row_updates = address_of(mixed.updates);
  layer.row_decays = address_of(mixed.decays);
  if (known.program.made > 0)
    layer.made = address_of(
        scratch_.alloc(DType::kF32, {std::int64_t{known.program.made} * shape.value_heads,
                                     std::int64_t{shape.key_dim} * shape.value_dim}));
  layer.seqs = known.seqs;
  layer.rows = known.rows;
  layer.paths = known.paths;
  layer.dt = address_of(mixed.dt);
  layer.beta = address_of(rows.beta.empty() ? mixed.dt : rows.beta);
  layer.skip = address_of(weights.skip.empty() ? mixed.dt : weights.skip);
  layer.to = address_of(out);
  layer.has_skip = weights.skip.empty() ? 0U : 1U;
  context_.recorder.dispatch(context_.pipelines.of(Shader::kRecurRows),
                             RecurRowsCall{context_.recorder.send(&layer, sizeof layer)},
                             {shape.value_heads, std::ssize(known.program.seqs)});
}

// What later steps read of these rows.
void VulkanStates::leave(const Known& known, const RecurrentRows& rows, const StateLayer& states,
                         const Mixed& mixed) {
  const RecurrentShape& shape = states.shape;
  const std::int64_t channels = shape.channels, heads = shape.value_heads;
  const Address inputs[] = {address_of(rows.inputs), address_of(states.inputs),
                            address_if(states.tail)};
  for (std::size_t i = 0; i < 3; ++i)
    move(known.tails[i], inputs[i], channels, address_if(states.tail), channels);
  move(known.items, inputs[0], channels, inputs[1], channels);
  if (!shape.has_state()) return;
  move(known.items, address_of(mixed.channels) + at(shape.first.key) * sizeof(float), channels,
       address_of(states.keys), states.keys.dim(2));
  move(known.items, address_of(mixed.updates), heads * shape.value_dim, address_of(states.updates),
       heads * shape.value_dim);
  move(known.items, address_of(mixed.decays), heads, address_of(states.decays), heads);
}

void VulkanStates::keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) {
  std::vector<const StateLayer*> kept;
  for (const KvLayer& layer : layers)
    if (layer.states.shape.is_on()) kept.push_back(&layer.states);
  if (kept.empty()) return;
  for (const KeepStage& stage : keep_stages(walk, batch, *kept[0])) {
    const SentMoves items = send(stage.items), tails = send(stage.tails);
    const Address blocks =
        stage.blocks.empty() ? 0 : context_.recorder.send(std::span(stage.blocks));
    for (const StateLayer* states : kept) {
      CHECK(counts_of(*states) == counts_of(*kept[0]));
      const auto move_in = [&](const Tensor& of) {
        if (!of.empty()) move(items, address_of(of), of.dim(2), address_of(of), of.dim(2));
      };
      for (const Tensor* of : {&states->inputs, &states->keys, &states->updates, &states->decays})
        move_in(*of);
      if (blocks == 0) continue;
      if (states->shape.has_state()) {
        StateLayerAt layer = layer_at(*states);
        layer.mixed = layer.item_keys;  // for reads that are thrown away
        layer.row_updates = layer.item_updates;
        layer.row_decays = layer.item_decays;
        context_.recorder.dispatch(
            context_.pipelines.of(Shader::kRecurAdvance),
            RecurAdvanceCall{.layer = context_.recorder.send(&layer, sizeof layer),
                             .blocks = blocks,
                             .items = count_of(states->items())},
            {states->shape.value_heads, std::ssize(stage.blocks)});
      }
      const std::int64_t channels = states->shape.channels;
      move(tails, address_of(states->inputs), channels, address_if(states->tail), channels);
    }
  }
}

void VulkanStates::copy(std::span<const StateCopy> copies, std::span<const KvLayer> layers) {
  RowMoves moves;
  for (const StateCopy& copy : copies) moves.add(copy.from, copy.to);
  const SentMoves sent = send(moves);
  for (const KvLayer& layer : layers)
    for (const Tensor* part : {&layer.states.state, &layer.states.tail}) {
      if (part->empty()) continue;
      const std::int64_t page = part->elements() / part->dim(0);
      move(sent, address_of(*part), page, address_of(*part), page);
    }
}

}  // namespace foretoken
