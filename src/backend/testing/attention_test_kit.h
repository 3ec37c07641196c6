#pragma once
// A made-up layer of attention for tests: rotation, KV store and attention of a backend over
// sequences whose pages lie scattered and whose unwritten memory is NaN. For tests only.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/ops_test_kit.h"

namespace foretoken {

// What the attention of one layer looks like.
struct Model {
  AttentionShape shape{.heads = 6, .kv_heads = 2, .head_dim = 64, .scale = 0.125F, .window = 0};
  DType kv = DType::kBF16;
  bool qk_norm = false;
  int rotary_dim = 64;  // 0: nothing is rotated
  int pairs = 0;        // of these elements, that are rotated; 0: all
  bool has_sinks = false;
};

// One slot's part of a step: a chain, then a tree given by parents and tokens (may be empty).
struct Part {
  SeqSlot slot = 0;
  std::vector<Token> chain = {};
  std::vector<std::int32_t> parents = {};
  std::vector<Token> nodes = {};
};

// One layer's KV, tables of three sequences, and steps over them.
class World {
 public:
  static constexpr int kSlots = 3, kPositions = 2048;

  // slot_pages: pages of each of the three slots.
  World(Ops& ops, const Model& model, int slot_pages = 40)
      : ops_(ops), model_(model), trees_(kSlots, 64), table_(kSlots) {
    const AttentionShape& s = model.shape;
    const int num_pages = slot_pages * kSlots + 2;
    kv_ = ops.alloc_kv({.layers = 1,
                        .kv_heads = s.kv_heads,
                        .head_dim = s.head_dim,
                        .dtype = model.kv,
                        .has_values = s.has_stored_values()},
                       num_pages)[0];
    poison();
    if (model.has_sinks) {
      kv_.sinks = ops.alloc(DType::kF32, {s.heads});
      for (int h = 0; h < s.heads; ++h) kv_.sinks.f32()[h] = 2.0F * value_of(7, 7, h);
    }
    if (model.rotary_dim > 0) make_rope(model.rotary_dim, model.pairs);
    if (model.qk_norm) {
      norm_ = {ops.alloc(DType::kF32, {s.head_dim}), ops.alloc(DType::kF32, {s.head_dim}), 0.5F};
      for (int d = 0; d < s.head_dim; ++d) {
        norm_.q_weight.f32()[d] = 1.0F + 0.1F * value_of(1, 1, d);
        norm_.k_weight.f32()[d] = 1.0F + 0.1F * value_of(1, 2, d);
      }
    }
    // Pages of the slots interleave, in falling order.
    PageId next = num_pages - 2;
    for (int i = 0; i < slot_pages; ++i)
      for (auto& pages : table_.pages) pages.push_back(next--);
  }

  // Stores and attends; out rows in the order of the batch.
  Rows step(const std::vector<Part>& parts) {
    const Tensor q = queries_ = store(parts);
    for (BatchSeq& seq : batch_.seqs) seq.first_slot = first_slot_;
    const std::int64_t width = std::int64_t{model_.shape.heads} * model_.shape.out_dim();
    Tensor out = guarded(batch_.rows, width);
    ops_.attention(q, kv_, ops_.plan_attention(model_.shape, batch_), out);
    check_guards(out);
    Rows rows;
    for (std::int64_t r = 0; r < batch_.rows; ++r)
      rows.emplace_back(out.row_f32(r), out.row_f32(r) + width);
    return rows;
  }

  // The last step's, as it was stored; until the next one.
  const Batch& batch() const { return batch_; }
  const KvLayer& kv() const { return kv_; }
  const Tensor& queries() const { return queries_; }

  void look_through(int window) { model_.shape.window = window; }
  void begin_at(std::int32_t first_slot) { first_slot_ = first_slot; }
  void commit(SeqSlot slot, int tokens) { table_.length[at(slot)] += tokens; }
  void keep(const Walk& walk) { ops_.kv_keep(walk, batch_, std::span(&kv_, 1)); }

  // `count` made-up tokens of a slot's text, stored in one chain and committed.
  void read(SeqSlot slot, int count) {
    if (count == 0) return;
    store({{.slot = slot, .chain = text(slot, table_.length[at(slot)], count)}});
    commit(slot, count);
  }
  static std::vector<Token> text(SeqSlot slot, int from, int count) {
    std::vector<Token> tokens;
    for (int i = from; i < from + count; ++i) tokens.push_back((slot * 31 + i * 7) % 97);
    return tokens;
  }

 private:
  static constexpr float kGuard = 1234.5F;
  static constexpr std::int64_t kGuardRows = 2;

  void make_rope(int rotary_dim, int pairs) {
    const std::int64_t half = pairs > 0 ? pairs : rotary_dim / 2;
    rope_ = {ops_.alloc(DType::kF32, {kPositions, half}),
             ops_.alloc(DType::kF32, {kPositions, half}), rotary_dim};
    for (std::int64_t p = 0; p < kPositions; ++p)
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(p) *
                             std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
        rope_.cos.row_f32(p)[i] = static_cast<float>(std::cos(angle));
        rope_.sin.row_f32(p)[i] = static_cast<float>(std::sin(angle));
      }
  }

  // Lays out a step and stores its KV; returns its queries.
  Tensor store(const std::vector<Part>& parts) {
    StepPlan plan;
    for (const Part& part : parts) {
      StepEntry entry{.slot = part.slot, .chain = part.chain, .has_tree = !part.nodes.empty()};
      if (entry.has_tree) {
        trees_.plant(part.slot, part.nodes[0]);
        for (std::size_t n = 1; n < part.nodes.size(); ++n)
          EXPECT_EQ(trees_.grow(part.slot, part.parents[n], part.nodes[n]), static_cast<int>(n));
      }
      plan.entries.push_back(entry);
    }
    ops_.layout(plan, trees_, table_, batch_);
    const AttentionShape& s = model_.shape;
    if (!s.has_stored_values()) return store_latent();
    const Tensor qkv = made_rows((s.heads + 2 * s.kv_heads) * s.head_dim, 0);
    const Tensor q = ops_.temp(DType::kF32, {batch_.rows, s.heads * s.head_dim});
    ops_.rope_store_kv(qkv, rope_, norm_, s, batch_, kv_, q);
    return q;
  }

  // Queries come in heads that are wider than the part that rotates.
  Tensor store_latent() {
    const AttentionShape& s = model_.shape;
    constexpr std::int64_t kBefore = 5;
    const Tensor norm = ops_.temp(DType::kF32, {s.value_dim});
    for (std::int64_t d = 0; d < s.value_dim; ++d) norm.f32()[d] = 1.0F + 0.1F * value_of(1, 3, d);
    const LatentRows latent{.kv = made_rows(s.head_dim, 0),
                            .q = made_rows(s.heads * (kBefore + model_.rotary_dim), 1),
                            .norm = norm,
                            .eps = 0.5F,
                            .pairs_neighbours = s.heads % 2 == 0};
    const Tensor q = made_rows(s.heads * s.head_dim, 2);
    ops_.store_latent(latent, rope_, s, batch_, kv_, q);
    return q;
  }

  // Values that depend on token and position of a row.
  Tensor made_rows(std::int64_t width, std::int64_t kind) {
    const Tensor rows = ops_.temp(DType::kF32, {batch_.rows, width});
    for (std::int64_t r = 0; r < batch_.rows; ++r)
      for (std::int64_t i = 0; i < width; ++i)
        rows.row_f32(r)[i] =
            value_of(batch_.token[at(r)], batch_.position[at(r)], i + kind * 100000);
    return rows;
  }

  // What no row may look at is NaN.
  void poison() {
    for (const Tensor& t : {kv_.k, kv_.v, kv_.k_scale, kv_.v_scale})
      if (!t.empty()) std::memset(t.data(), 0xff, t.bytes());
  }
  Tensor guarded(std::int64_t rows, std::int64_t width) {
    Tensor all = ops_.temp(DType::kF32, {rows + 2 * kGuardRows, width});
    std::fill_n(all.f32(), all.elements(), kGuard);
    guarded_ = all;
    return all.rows(kGuardRows, rows);
  }
  void check_guards(const Tensor& inner) {
    const float* end = inner.f32() + inner.elements();
    for (std::int64_t i = 0; i < kGuardRows * inner.dim(1); ++i) {
      ASSERT_EQ(guarded_.f32()[i], kGuard);
      ASSERT_EQ(end[i], kGuard);
    }
  }

  Ops& ops_;
  Model model_;
  DraftTrees trees_;
  SeqTable table_;
  KvLayer kv_;
  RopeTable rope_;
  QkNorm norm_;
  Batch batch_;
  Tensor queries_;
  std::int32_t first_slot_ = 0;
  Tensor guarded_;
};

inline std::string describe(const Model& m) {
  return std::to_string(m.shape.heads) + "/" + std::to_string(m.shape.kv_heads) + " heads of " +
         std::to_string(m.shape.head_dim) + ", " + std::string(dtype_name(m.kv)) + ", window " +
         std::to_string(m.shape.window) + ", cap " + std::to_string(m.shape.score_cap) +
         (m.shape.has_stored_values() ? "" : ", values of " + std::to_string(m.shape.value_dim)) +
         (m.has_sinks ? ", sinks" : "") + (m.rotary_dim == 0 ? ", no rotation" : "");
}

// Inputs are within +-2, rotated within +-2.9. A score is a chain of dim products, so off by at
// most dim * eps * sum|q||k| * scale. Softmax turns an absolute error e of scores into a relative
// error 2e of weights, and a sum of n values adds n * eps. Rotation is the same arithmetic on both
// sides, so keys are rounded alike; a norm is not, and may push a key over the edge between two
// values of the KV format: one step in one of the products, and where queries are rounded like them
// in another one. A latent is normalised, too, and is a value as well. Weights of values are rounded
// where the KV is bf16, the reference does not.
inline double tolerance(const Model& m) {
  const double eps = 0x1p-24, dim = m.shape.head_dim, largest = 2.9;
  const double products = dim * largest * largest * m.shape.scale;
  const bool is_latent = !m.shape.has_stored_values();
  const double step = m.kv == DType::kBF16                ? 0x1p-8
                      : m.kv == DType::kF16               ? 0x1p-11
                      : m.kv == DType::kF32 || !is_latent ? eps
                      : m.kv == DType::kI8                ? 1.0 / 127
                      : m.kv == DType::kF8E4M3            ? 0x1p-3
                                                          : 0x1p-2;
  const double flip = m.qk_norm || is_latent ? 2 * step * largest * largest * m.shape.scale : 0.0;
  const double weights = m.kv == DType::kBF16 ? 0x1p-9 * 2.0 : 0.0;
  const double value = is_latent ? step * largest : 0.0;
  return 2.0 * (2.0 * ((dim + 8) * eps * products + flip) + 400 * eps) + weights + value;
}

}  // namespace foretoken
