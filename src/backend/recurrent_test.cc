// Layers that keep a state, against their definition token by token in double, however the tokens
// are cut into chunks and trees.

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/testing/recurrent_test_kit.h"
#include "base/index.h"
#include "base/threads.h"
#include "batch/commit.h"

namespace foretoken {
namespace {

constexpr int kTokens = 150;

class Recurrent : public testing::TestWithParam<RecurrentKind> {
 protected:
  Recurrent() : pool_(2, false), ops_(make_backend({}, pool_)) {
    KvShape kv{.layers = 1, .kv_heads = 1, .head_dim = 16};
    kv.keeps_state = {true};
    kv.recurrent = shape();
    kv.slots = 2;
    kv.snapshots = 2;
    layers_ = ops_->alloc_kv(kv, kTokens / kPageTokens + 8);
    weights_ = {.taps = random({shape().taps, shape().channels}, 0.4F),
                .taps_bias = random({shape().channels}, 0.2F),
                .has_silu = true};
    inputs_ = random({kTokens, shape().channels}, 1.0F);
    if (!shape().has_state()) return;
    const std::int64_t heads = shape().value_heads;
    dt_ = random({kTokens, heads}, 1.0F);
    beta_ = random({kTokens, heads}, 1.0F);
    weights_.dt_bias = random({heads}, 0.5F);
    weights_.rate = random({heads}, 0.1F);
    for (int h = 0; h < heads; ++h) weights_.rate.f32()[h] = -std::abs(weights_.rate.f32()[h]);
    weights_.skip = random({heads}, 1.0F);
  }

  const RecurrentShape& shape() const { return GetParam().shape; }
  std::int64_t out_width() const {
    return shape().has_state() ? shape().value_heads * shape().value_dim : shape().channels;
  }

  Tensor random(const Shape& of, float size) {
    std::normal_distribution<float> normal(0.0F, size);
    const Tensor made = ops_->alloc(DType::kF32, of);
    for (std::int64_t i = 0; i < made.elements(); ++i) made.f32()[i] = normal(random_);
    return made;
  }

  // Rows of a step: tokens [length, length + chain) of the text, then a tree whose nodes carry the
  // tokens of the text that their `carries` say. Returns what comes out.
  std::vector<std::vector<float>> step(SeqSlot slot, int chain, const std::vector<int>& parents,
                                       const std::vector<int>& carries) {
    SeqTable& table = table_;
    if (table.pages[at(slot)].empty())
      for (PageId page = 0; page < kTokens / kPageTokens + 8; ++page)
        table.pages[at(slot)].push_back(page);
    const int base = table.length[at(slot)];
    const std::vector<Token> tokens(at(chain), 0);
    StepPlan plan;
    plan.entries.push_back({.slot = slot, .chain = tokens, .has_tree = !parents.empty()});
    for (std::size_t n = 0; n < parents.size(); ++n)
      n == 0 ? trees_.plant(slot, 0) : void(trees_.grow(slot, parents[n], static_cast<Token>(n)));
    Batch& batch = batch_;
    ops_->layout(plan, trees_, table, batch);
    std::vector<std::int32_t> from;
    for (int i = 0; i < chain; ++i) from.push_back(base + i);
    for (const int carried : carries) from.push_back(carried);
    const Tensor out = ops_->temp(DType::kF32, {batch.rows, out_width()});
    ops_->recur(
        {.inputs = picked(inputs_, from), .dt = picked(dt_, from), .beta = picked(beta_, from)},
        weights_, batch, layers_[0], out);
    std::vector<std::vector<float>> rows;
    for (int row = 0; row < batch.rows; ++row)
      rows.emplace_back(out.row_f32(row), out.row_f32(row) + out_width());
    return rows;
  }

  void keep(SeqSlot slot, int chain, std::vector<std::int32_t> path) {
    Walk walk;
    walk.seqs.push_back({.slot = slot, .path = path, .emitted = {}, .foreseen = {}, .scored = {}});
    ops_->kv_keep(walk, batch_, layers_);
    commit(table_, slot, at(chain), path.size());
  }

  Tensor picked(const Tensor& rows, const std::vector<std::int32_t>& from) {
    if (rows.empty()) return {};
    const Tensor out = ops_->temp(DType::kF32, {std::int64_t(from.size()), rows.dim(1)});
    ops_->gather_rows(rows, from, out);
    return out;
  }

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  std::mt19937_64 random_{17};
  std::vector<KvLayer> layers_;
  RecurrentWeights weights_;
  Tensor inputs_, dt_, beta_;
  SeqTable table_{2};
  DraftTrees trees_{2, kMaxTreeNodes};
  Batch batch_;
};

double silu(double x) { return x / (1.0 + std::exp(-x)); }

// The text up to and with `last`, by the definition.
std::vector<double> defined(const RecurrentShape& shape, const RecurrentWeights& w,
                            const Tensor& inputs, const Tensor& dts, const Tensor& betas,
                            int last) {
  const auto mixed = [&](int t) {
    std::vector<double> out(at(shape.channels));
    for (int c = 0; c < shape.channels; ++c) {
      double sum = w.taps_bias.f32()[c];
      for (int tap = 0; tap < shape.taps; ++tap)
        if (const int from = t - shape.taps + 1 + tap; from >= 0)
          sum += double{w.taps.row_f32(tap)[c]} * inputs.row_f32(from)[c];
      out[at(c)] = silu(sum);
    }
    return out;
  };
  if (!shape.has_state()) return mixed(last);
  const int keys = shape.key_dim, values = shape.value_dim;
  std::vector<double> out(at(shape.value_heads * values));
  for (int h = 0; h < shape.value_heads; ++h) {
    std::vector<double> state(at(keys * values));
    const int key_head =
        shape.takes_turns ? h % shape.key_heads : h / (shape.value_heads / shape.key_heads);
    for (int t = 0; t <= last; ++t) {
      const auto x = mixed(t);
      const auto part = [&](int first, int size) {
        return std::vector<double>(x.begin() + first, x.begin() + first + size);
      };
      auto q = part(shape.first.query + key_head * keys, keys);
      auto k = part(shape.first.key + key_head * keys, keys);
      const auto v = part(shape.first.value + h * values, values);
      if (shape.normalises_qk)
        for (auto* vector : {&q, &k}) {
          double sum = 1e-6;
          for (const double value : *vector) sum += value * value;
          for (double& value : *vector)
            value /= std::sqrt(sum) * (vector == &q ? std::sqrt(double(keys)) : 1.0);
        }
      const double dt = std::log1p(std::exp(double{dts.row_f32(t)[h]} + w.dt_bias.f32()[h]));
      const double kept = std::exp(w.rate.f32()[h] * dt);
      for (double& value : state) value *= kept;
      for (int j = 0; j < values; ++j) {
        double update = dt * v[at(j)];
        if (shape.corrects) {
          double known = 0;
          for (int d = 0; d < keys; ++d) known += k[at(d)] * state[at(d * values + j)];
          update = (v[at(j)] - known) / (1.0 + std::exp(-double{betas.row_f32(t)[h]}));
        }
        double found = w.skip.f32()[h] * v[at(j)];
        for (int d = 0; d < keys; ++d) {
          state[at(d * values + j)] += k[at(d)] * update;
          found += q[at(d)] * state[at(d * values + j)];
        }
        out[at(h * values + j)] = found;
      }
    }
  }
  return out;
}

TEST_P(Recurrent, a_text_is_what_it_is_token_by_token) {
  const auto rows = step(0, kTokens, {}, {});
  for (const int t : {0, 1, 30, 31, 32, 63, 64, 100, kTokens - 1}) {
    const auto expected = defined(shape(), weights_, inputs_, dt_, beta_, t);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(rows[at(t)][i], expected[i], 2e-5) << "token " << t << ", element " << i;
  }
}

TEST_P(Recurrent, chunks_give_the_same_bits) {
  const auto whole = step(0, kTokens, {}, {});
  int done = 0;
  for (const int chunk : {1, 30, 1, 1, 31, 2, 64, 20}) {
    const auto rows = step(1, chunk, {}, {});
    for (int i = 0; i < chunk; ++i) ASSERT_EQ(rows[at(i)], whole[at(done + i)]) << done + i;
    keep(1, chunk, {});
    done += chunk;
  }
  ASSERT_EQ(done, kTokens);
}

// Trees whose right nodes are scattered among wrong ones, of every length, across blocks.
TEST_P(Recurrent, drafts_give_the_same_bits_and_leave_nothing_behind) {
  const auto whole = step(0, kTokens, {}, {});
  std::mt19937_64 dice(5);
  int done = 0, crossed = 0;
  while (done + 70 < kTokens || done < 64) {
    const int chain = dice() % 4 == 0 ? static_cast<int>(dice() % 40) : 0;
    const int depth = static_cast<int>(dice() % 34);
    std::vector<int> parents{-1}, carries{done + chain}, right{0};
    for (int d = 1; d <= depth; ++d) {
      for (int wrong = 0; wrong < int(dice() % 2); ++wrong) {
        parents.push_back(right.back());
        carries.push_back(int(dice() % kTokens));
      }
      parents.push_back(right.back());
      carries.push_back(done + chain + d);
      right.push_back(int(parents.size()) - 1);
    }
    if (parents.size() > kMaxTreeNodes || done + chain + depth >= kTokens) continue;
    const auto rows = step(1, chain, parents, carries);
    for (std::size_t d = 0; d < right.size(); ++d)
      ASSERT_EQ(rows[at(chain + right[d])], whole[at(done + chain) + d])
          << "depth " << d << " behind " << done << " + " << chain;
    const std::size_t kept = 1 + dice() % right.size();
    right.resize(kept);
    crossed += (done + chain) / 32 != (done + chain + int(kept)) / 32;
    keep(1, chain, std::vector<std::int32_t>(right.begin(), right.end()));
    done += chain + int(kept);
  }
  EXPECT_GT(crossed, 0);
}

TEST_P(Recurrent, a_slot_begins_anew) {
  const auto first = step(0, 70, {}, {});
  keep(0, 70, {});
  step(0, 0, {-1, 0}, {70, 71});
  table_.length[0] = 0;  // another text
  EXPECT_EQ(step(0, 70, {}, {}), first);
}

// What lies before the block is all that it needs.
TEST_P(Recurrent, a_slot_goes_on_from_a_snapshot_of_another) {
  constexpr int kSnapshot = 2 * 2 + 1;
  const auto whole = step(0, kTokens, {}, {});
  step(1, 70, {}, {});
  keep(1, 70, {});
  const StateCopy taken{.from = 2 + table_.state[1], .to = kSnapshot};
  ops_->copy_states(std::span(&taken, 1), layers_);
  step(1, 40, {}, {});  // which goes on
  keep(1, 40, {});
  table_.length[0] = 64;
  const StateCopy given{.from = kSnapshot, .to = table_.state[0]};
  ops_->copy_states(std::span(&given, 1), layers_);
  const auto rest = step(0, kTokens - 64, {}, {});
  for (int i = 64; i < kTokens; ++i) ASSERT_EQ(rest[at(i - 64)], whole[at(i)]) << i;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Recurrent, testing::ValuesIn(recurrent_kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace foretoken
