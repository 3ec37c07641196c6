#include "backend/host/host_states.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "backend/host/state_loops.h"
#include "backend/host/state_paths.h"
#include "base/index.h"
#include "batch/lanes.h"

namespace foretoken {
namespace {

constexpr float kNormEps = 1e-6F;

// log(1 + e^x) = max(x, 0) + log(1 + e) with e = e^-|x|: the latter by the series of atanh.
float softplus(float x) {
  const float e = exp_nonpositive(-std::abs(x)), s = e / (2.0F + e), square = s * s;
  float p = 1.0F / 15.0F;
  for (const float next :
       {1.0F / 13.0F, 1.0F / 11.0F, 1.0F / 9.0F, 1.0F / 7.0F, 1.0F / 5.0F, 1.0F / 3.0F, 1.0F})
    p = p * square + next;
  return (x < 0.0F ? 0.0F : x) + 2.0F * s * p;  // NaN stays
}

float sigmoid(float x) {
  const float e = exp_nonpositive(-std::abs(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

// Scratch of one call, f32, by row of the batch.
struct Scratch {
  Tensor mixed;    // [rows, channels], behind the convolution
  Tensor updates;  // [rows, value_heads * value_dim]
  Tensor dt;       // [rows, value_heads]
  Tensor decays;   // [rows, value_heads]: g, then G
};

struct Call {
  const RecurrentRows& rows;
  const RecurrentWeights& weights;
  const Batch& batch;
  const StateLayer& states;
  const Tensor& out;
  Scratch scratch;
  const StateLoops& loops = state_loops();

  const RecurrentShape& shape() const { return states.shape; }
};

void normalise(const Call& call, float* heads, float factor) {
  const RecurrentShape& shape = call.shape();
  for (int h = 0; h < shape.key_heads; ++h, heads += shape.key_dim) {
    const float sum = call.loops.dot(heads, heads, shape.key_dim);
    const float inverse = 1.0F / std::sqrt(sum + kNormEps) * factor;
    for (int d = 0; d < shape.key_dim; ++d) heads[d] *= inverse;
  }
}

// The row's convolution, its normed heads, and what its state decays by.
void mix_row(const Call& call, const SeqStates& seq, std::int32_t place) {
  const RecurrentShape& shape = call.shape();
  const std::int64_t row = seq.first_row() + place;
  std::vector<const float*> inputs(at(shape.taps));
  std::int32_t from = place;
  for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
    *input = seq.input(call.rows.inputs, from);
    from = seq.before(from);
  }
  const RecurrentWeights& w = call.weights;
  float* mixed = shape.has_state() ? call.scratch.mixed.row_f32(row) : call.out.row_f32(row);
  call.loops.convolve({.inputs = inputs.data(),
                       .weights = w.taps.f32(),
                       .bias = w.taps_bias.empty() ? nullptr : w.taps_bias.f32(),
                       .taps = shape.taps,
                       .channels = shape.channels,
                       .has_silu = w.has_silu},
                      mixed);
  if (!shape.has_state()) return;
  if (shape.normalises_qk) {
    normalise(call, mixed + shape.first.query, 1.0F / std::sqrt(static_cast<float>(shape.key_dim)));
    normalise(call, mixed + shape.first.key, 1.0F);
  }
  float* dt = call.scratch.dt.row_f32(row);
  float* decay = call.scratch.decays.row_f32(row);
  for (int h = 0; h < shape.value_heads; ++h) {
    dt[h] = softplus(call.rows.dt.row_f32(row)[h] + w.dt_bias.f32()[h]);
    if (shape.most_dt > 0) dt[h] = std::clamp(dt[h], shape.least_dt, shape.most_dt);
    decay[h] = w.rate.f32()[h] * dt[h];
  }
}

// One head of one sequence: its rows in order.
class HeadRows {
 public:
  HeadRows(const Call& call, const SeqStates& seq, int head)
      : call_(call),
        seq_(seq),
        head_(head),
        key_at_(call.shape().key_head_of(head) * call.shape().key_dim) {}

  void run() {
    const float* state = seq_.has_state() ? state_at(seq_.page()) : nullptr;
    StatePath path;
    for (std::int32_t i = 0; i < seq_.stored(); ++i) path.add(stored_item(i));
    std::int32_t first = 0;
    while (first < seq_.chain()) {
      const std::int32_t end = seq_.end_of_block(first);
      read(state, first, end);
      for (std::int32_t i = first; i < end; ++i) {
        emit(i, state != nullptr, path);
        path.add(row_item(i));
      }
      if (seq_.completes_block(end - 1)) {
        float* next = state_at(seq_.page() ^ 1);
        advance(state, path, next);
        state = next;
        path.clear();
      }
      first = end;
    }
    run_tree(state, path);
  }

 private:
  // The nodes of the tree. Those behind a block that a node completes read a state of its own.
  void run_tree(const float* state, const StatePath& chain) {
    if (seq_.nodes() == 0) return;
    read(state, seq_.chain(), seq_.rows());
    std::vector<std::vector<float>> made(at(seq_.nodes()));  // behind nodes that complete a block
    StatePath path;
    for (std::int32_t node = 0; node < seq_.nodes(); ++node) {
      const std::int32_t place = seq_.chain() + node;
      const std::int32_t last = seq_.last_of_block_before(place);  // a node, or -1
      const float* from = last < 0 ? state : made[at(last)].data();
      if (last < 0)
        path = chain;
      else
        path.clear();
      for (const std::int32_t above : seq_.nodes_above(place, last))
        path.add(row_item(seq_.chain() + above));
      if (last >= 0) read(from, place, place + 1);
      emit(place, from != nullptr, path);
      if (!seq_.completes_block(place)) continue;
      path.add(row_item(place));
      made[at(node)].resize(at(call_.shape().key_dim) * at(call_.shape().value_dim));
      advance(from, path, made[at(node)].data());
    }
  }

  // What rows [first, end) find in a state: of their keys, and of their queries.
  void read(const float* state, std::int32_t first, std::int32_t end) {
    found_.resize(2 * at(seq_.rows()) * at(call_.shape().value_dim));
    if (state == nullptr) return;
    std::vector<const float*> x;
    std::vector<float*> found;
    for (std::int32_t i = first; i < end; ++i) {
      x.push_back(query(i));
      found.push_back(found_at(i, 0));
      if (!call_.shape().corrects) continue;
      x.push_back(key(i));
      found.push_back(found_at(i, 1));
    }
    call_.loops.read(state, call_.shape().key_dim, call_.shape().value_dim, x.data(),
                     static_cast<int>(x.size()), found.data());
  }

  // The update and the result of a row behind those of its path.
  void emit(std::int32_t place, bool has_state, const StatePath& path) {
    const RecurrentShape& shape = call_.shape();
    const std::int64_t row = seq_.first_row() + place;
    float& decay = call_.scratch.decays.row_f32(row)[head_];
    decay += path.empty() ? 0.0F : path.decays.back();
    const float kept = exp_nonpositive(decay);
    const float* value =
        call_.scratch.mixed.row_f32(row) + shape.first.value + head_ * shape.value_dim;
    float* update = update_at(place);
    float* out = call_.out.row_f32(row) + head_ * shape.value_dim;
    since_.resize(path.size());
    call_.loops.decays(path.decays.data(), static_cast<int>(path.size()), decay, since_.data());
    if (shape.corrects) {
      start(update, has_state ? found_at(place, 1) : nullptr, kept);
      add_path(update, key(place), path);
      const float beta = sigmoid(call_.rows.beta.row_f32(row)[head_]);
      for (int j = 0; j < shape.value_dim; ++j) update[j] = beta * (value[j] - update[j]);
    } else {
      const float dt = call_.scratch.dt.row_f32(row)[head_];
      for (int j = 0; j < shape.value_dim; ++j) update[j] = dt * value[j];
    }
    start(out, has_state ? found_at(place, 0) : nullptr, kept);
    add_path(out, query(place), path);
    add_one(out, update, call_.loops.dot(query(place), key(place), shape.key_dim));
    if (!call_.weights.skip.empty()) add_one(out, value, call_.weights.skip.f32()[head_]);
  }

  void start(float* sum, const float* found, float kept) const {
    for (int j = 0; j < call_.shape().value_dim; ++j)
      sum[j] = found == nullptr ? 0.0F : kept * found[j];
  }

  // sum += the updates of a path, each by what x finds in its key and by its decay.
  void add_path(float* sum, const float* x, const StatePath& path) {
    const int items = static_cast<int>(path.size());
    factors_.resize(path.size());
    call_.loops.dots(x, path.keys.data(), items, call_.shape().key_dim, factors_.data());
    for (std::size_t i = 0; i < path.size(); ++i) factors_[i] *= since_[i];
    call_.loops.add_scaled(sum, path.updates.data(), factors_.data(), items,
                           call_.shape().value_dim);
  }

  void add_one(float* sum, const float* row, float factor) const {
    call_.loops.add_scaled(sum, &row, &factor, 1, call_.shape().value_dim);
  }

  void advance(const float* from, const StatePath& path, float* to) const {
    advance_state(call_.loops, call_.shape(), path, from, to);
  }

  StatePath::Item stored_item(std::int32_t i) const {
    return item_of(call_.states, seq_.page(), i, head_, key_at_);
  }
  StatePath::Item row_item(std::int32_t place) const {
    return {.key = key(place),
            .update = update_at(place),
            .decay = call_.scratch.decays.row_f32(seq_.first_row() + place)[head_]};
  }
  float* update_at(std::int32_t place) const {
    return call_.scratch.updates.row_f32(seq_.first_row() + place) +
           head_ * call_.shape().value_dim;
  }
  const float* key(std::int32_t place) const {
    return call_.scratch.mixed.row_f32(seq_.first_row() + place) + call_.shape().first.key +
           key_at_;
  }
  const float* query(std::int32_t place) const {
    return call_.scratch.mixed.row_f32(seq_.first_row() + place) + call_.shape().first.query +
           key_at_;
  }
  float* found_at(std::int32_t place, int which) {
    return found_.data() + (2 * at(place) + at(which)) * at(call_.shape().value_dim);
  }
  float* state_at(std::int32_t page) const { return head_state(call_.states, page, head_); }

  const Call& call_;
  const SeqStates& seq_;
  int head_;
  int key_at_;
  std::vector<float> found_;
  std::vector<float> since_, factors_;  // of one row, by what is on its path
};

// What a row leaves for later steps.
void leave_row(const Call& call, const SeqStates& seq, std::int32_t place) {
  const StateLayer& states = call.states;
  const std::int32_t item = seq.item(place);
  if (item < 0) return;
  const std::int32_t page = seq.page_of_tree();
  const std::int64_t row = seq.first_row() + place, to = page * states.items() + item;
  const auto copy = [&](const float* from, const Tensor& items) {
    const std::int64_t width = items.dim(2);
    std::copy_n(from, width, items.f32() + to * width);
  };
  copy(call.rows.inputs.row_f32(row), states.inputs);
  if (!call.shape().has_state()) return;
  copy(call.scratch.mixed.row_f32(row) + call.shape().first.key, states.keys);
  copy(call.scratch.updates.row_f32(row), states.updates);
  copy(call.scratch.decays.row_f32(row), states.decays);
}

// The inputs before the block of the tree, where the chain begins it.
void leave_tail(const Call& call, const SeqStates& seq) {
  if (seq.page_of_tree() == seq.page()) return;
  const std::int32_t taps = call.shape().taps;
  for (std::int32_t back = 1; back < taps; ++back) {
    const float* from = seq.input(call.rows.inputs, seq.start_of_tree() - back);
    std::copy_n(from, call.shape().channels,
                tail_input(call.states, seq.page_of_tree(), taps - 1 - back));
  }
}

Scratch scratch_of(StepOps& ops, const RecurrentShape& shape, std::int64_t rows) {
  if (!shape.has_state()) return {};
  const auto temp = [&](std::int64_t width) { return ops.temp(DType::kF32, {rows, width}); };
  return {.mixed = temp(shape.channels),
          .updates = temp(std::int64_t{shape.value_heads} * shape.value_dim),
          .dt = temp(shape.value_heads),
          .decays = temp(shape.value_heads)};
}

}  // namespace

void expect_recurrent(const RecurrentRows& rows, const StateLayer& states, const Tensor& out) {
  const RecurrentShape& shape = states.shape;
  const std::int64_t count = out.dim(0), heads = shape.value_heads;
  expect(rows.inputs, {count, shape.channels}, DType::kF32);
  expect(out, {count, shape.has_state() ? heads * shape.value_dim : shape.channels}, DType::kF32);
  if (shape.has_state()) expect(rows.dt, {count, heads}, DType::kF32);
  if (shape.corrects) expect(rows.beta, {count, heads}, DType::kF32);
}

void recur_host_rows(StepOps& ops, ThreadPool& pool, const RecurrentRows& rows,
                     const RecurrentWeights& weights, const Batch& batch, const StateLayer& states,
                     const Tensor& out) {
  expect_recurrent(rows, states, out);
  if (batch.rows == 0) return;
  const ScratchScope scratch_only(ops);
  const Call call{rows, weights, batch, states, out, scratch_of(ops, states.shape, batch.rows)};
  std::vector<SeqStates> seqs;
  for (const BatchSeq& seq : batch.seqs) seqs.emplace_back(batch, seq, states);
  const auto seq_of = [&](int row) -> const SeqStates& { return seqs[at(batch.seq[at(row)])]; };
  pool.parallel_for(batch.rows, [&](int row, int) {
    const SeqStates& seq = seq_of(row);
    mix_row(call, seq, row - seq.first_row());
  });
  const int heads = states.shape.value_heads;
  pool.parallel_for(static_cast<int>(seqs.size()) * heads, [&](int item, int) {
    HeadRows(call, seqs[at(item / heads)], item % heads).run();
  });
  for (const SeqStates& seq : seqs) leave_tail(call, seq);
  pool.parallel_for(batch.rows, [&](int row, int) {
    const SeqStates& seq = seq_of(row);
    leave_row(call, seq, row - seq.first_row());
  });
}

void gate_host_rows(ThreadPool& pool, const Tensor& x, const Tensor& gate, GateCurve curve) {
  expect(x, {gate.dim(0), gate.dim(1)}, DType::kF32);
  const auto apply = state_loops().gate[static_cast<std::size_t>(curve)];
  pool.parallel_for(static_cast<int>(x.dim(0)),
                    [&](int row, int) { apply(x.row_f32(row), gate.row_f32(row), x.dim(1)); });
}

}  // namespace foretoken
