// Attention of the CPU backend, with rotation and KV store before it, against the reference
// backend, and its promise of equal bits: between instruction sets, threads, chunkings, batches,
// and between a node of a tree and the same text as a chain.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/ops_test_kit.h"

namespace foretoken {
namespace {

struct Model {
  AttentionShape shape{.heads = 6, .kv_heads = 2, .head_dim = 64, .scale = 0.125F, .window = 0};
  DType kv = DType::kBF16;
  bool qk_norm = false;
  int rotary_dim = 64;
};

// One slot's part of a step: a chain, then a tree given by parents and tokens (may be empty).
struct Part {
  SeqSlot slot = 0;
  std::vector<Token> chain = {};
  std::vector<std::int32_t> parents = {};
  std::vector<Token> nodes = {};
};

class World {
 public:
  static constexpr int kSlots = 3, kPositions = 2048;

  // slot_pages: pages of each of the three slots.
  World(Ops& ops, const Model& model, int slot_pages = 40)
      : ops_(ops), model_(model), trees_(kSlots, 64), table_(kSlots) {
    const AttentionShape& s = model.shape;
    const int num_pages = slot_pages * kSlots + 2;
    kv_ = {ops.alloc(model.kv, {num_pages, s.kv_heads, s.head_dim, kPageTokens}),
           ops.alloc(model.kv, {num_pages, s.kv_heads, kPageTokens, s.head_dim})};
    poison();
    const std::int64_t half = model.rotary_dim / 2;
    rope_ = {ops.alloc(DType::kF32, {kPositions, half}), ops.alloc(DType::kF32, {kPositions, half}),
             model.rotary_dim};
    for (std::int64_t p = 0; p < kPositions; ++p)
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(p) *
                             std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
        rope_.cos.row_f32(p)[i] = static_cast<float>(std::cos(angle));
        rope_.sin.row_f32(p)[i] = static_cast<float>(std::sin(angle));
      }
    if (model.qk_norm) {
      norm_ = {ops.alloc(DType::kF32, {s.head_dim}), ops.alloc(DType::kF32, {s.head_dim}), 1e-6F};
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
    const std::int64_t width = s.heads * s.head_dim;
    const std::int64_t qkv_width = (s.heads + 2 * s.kv_heads) * s.head_dim;
    Tensor qkv = ops_.temp(DType::kF32, {batch_.rows, qkv_width});
    for (std::int64_t r = 0; r < batch_.rows; ++r)
      for (std::int64_t i = 0; i < qkv_width; ++i)
        qkv.row_f32(r)[i] = value_of(batch_.token[at(r)], batch_.position[at(r)], i);
    Tensor q = ops_.temp(DType::kF32, {batch_.rows, width});
    Tensor out = guarded(batch_.rows, width);
    ops_.rope_store_kv(qkv, rope_, norm_, s, batch_, kv_, q);
    ops_.attention(q, kv_, s, batch_, out);
    check_guards(out);
    Rows rows;
    for (std::int64_t r = 0; r < batch_.rows; ++r)
      rows.emplace_back(out.row_f32(r), out.row_f32(r) + width);
    return rows;
  }

  void commit(SeqSlot slot, int tokens) { table_.length[at(slot)] += tokens; }
  void keep(const Walk& walk) { ops_.kv_keep(walk, batch_, std::span(&kv_, 1)); }

  // `count` made-up tokens of a slot's text, stored in one chain and committed.
  void read(SeqSlot slot, int count) {
    Part part{.slot = slot, .chain = text(slot, table_.length[at(slot)], count)};
    step({part});
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

  // What no row may look at is NaN.
  void poison() {
    for (const Tensor& t : {kv_.k, kv_.v}) std::memset(t.data(), 0xff, t.bytes());
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
  Tensor guarded_;
};

// Chains, bushy trees and long chains beside each other, at odd lengths.
Rows busy_day(Ops& ops, const Model& model) {
  World world(ops, model);
  world.read(0, 150);
  world.read(1, 5);
  Rows all = world.step({{.slot = 0,
                          .chain = World::text(0, 150, 7),
                          .parents = {-1, 0, 0, 1, 2, 4, 0, 5},
                          .nodes = {9, 8, 7, 6, 5, 4, 3, 2}},
                         {.slot = 1, .parents = {-1}, .nodes = {11}},
                         {.slot = 2, .chain = World::text(2, 0, 37)}});
  const Rows more = world.step({{.slot = 1, .chain = World::text(1, 5, 300)}});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<Model> models() {
  std::vector<Model> all;
  const auto add = [&](int heads, int kv_heads, int dim, DType kv, int window, bool norm) {
    all.push_back({.shape = {.heads = heads,
                             .kv_heads = kv_heads,
                             .head_dim = dim,
                             .scale = 1.0F / std::sqrt(static_cast<float>(dim)),
                             .window = window},
                   .kv = kv,
                   .qk_norm = norm,
                   .rotary_dim = dim});
  };
  add(6, 2, 64, DType::kBF16, 0, false);
  add(4, 4, 80, DType::kF16, 0, true);
  add(8, 1, 24, DType::kF32, 0, false);
  add(3, 3, 6, DType::kBF16, 20, false);
  add(4, 2, 128, DType::kF32, 130, true);
  add(2, 1, 64, DType::kF16, 1, false);
  all.back().rotary_dim = 36;
  add(70, 1, 16, DType::kBF16, 0, false);
  return all;
}

std::vector<Model> first_models(std::size_t count) {
  std::vector<Model> some = models();
  some.resize(std::min(count, some.size()));
  return some;
}

std::string describe(const Model& m) {
  return std::to_string(m.shape.heads) + "/" + std::to_string(m.shape.kv_heads) + " heads of " +
         std::to_string(m.shape.head_dim) + ", " + std::string(dtype_name(m.kv)) + ", window " +
         std::to_string(m.shape.window);
}

// Inputs are within +-2, rotated within +-2.9. A score is a chain of dim products, so off by at
// most dim * eps * sum|q||k| * scale. Softmax turns an absolute error e of scores into a relative
// error 2e of weights, and a sum of n values adds n * eps. Rotation is the same arithmetic on both
// sides, so keys are rounded alike; a norm is not, and may push a key over the edge between two
// values of the KV format: one step in one of the products.
double tolerance(const Model& m) {
  const double eps = 0x1p-24, dim = m.shape.head_dim, largest = 2.9;
  const double products = dim * largest * largest * m.shape.scale;
  const double step = m.kv == DType::kBF16 ? 0x1p-8 : m.kv == DType::kF16 ? 0x1p-11 : eps;
  const double flip = m.qk_norm ? step * largest * largest * m.shape.scale : 0.0;
  return 2.0 * (2.0 * ((dim + 8) * eps * products + flip) + 400 * eps);
}

TEST(Attention, agrees_with_the_reference) {
  for (const Model& model : models()) {
    const Rows expected = busy_day(*machine("reference", 2).ops, model);
    for (const std::string& isa : cpu_isas())
      expect_near(busy_day(*machine(isa, 2).ops, model), expected, tolerance(model),
                  isa + ", " + describe(model));
  }
}

TEST(Attention, has_the_same_bits_on_every_instruction_set_and_thread_count) {
  for (const Model& model : models()) {
    const Rows expected = busy_day(*machine("scalar", 1).ops, model);
    for (const std::string& isa : cpu_isas())
      for (const int threads : {1, 3})
        expect_same_bytes(busy_day(*machine(isa, threads).ops, model), expected,
                          isa + "/" + std::to_string(threads) + ", " + describe(model));
  }
}

TEST(Attention, has_the_same_bits_for_any_chunking) {
  for (const Model& model : models()) {
    std::map<int, Rows> by_chunk;
    const Machine m = machine("auto", 3);
    for (const int chunk : {1, 13, 64, 200}) {
      World world(*m.ops, model);
      for (int done = 0; done < 200; done += chunk) {
        const int count = std::min(chunk, 200 - done);
        for (auto& row : world.step({{.slot = 1, .chain = World::text(1, done, count)}}))
          by_chunk[chunk].push_back(std::move(row));
        world.commit(1, count);
      }
      expect_same_bytes(by_chunk[chunk], by_chunk[1],
                        "chunks of " + std::to_string(chunk) + ", " + describe(model));
    }
  }
}

// The path of every node, replayed as plain decoding, one token per step.
TEST(Attention, a_node_has_the_bits_of_its_path_as_a_chain) {
  // All models on the widest kernels; two on the others, whose bits are compared above.
  for (const std::string& isa : cpu_isas())
    for (const Model& model : first_models(isa == cpu_isas().back() ? 7 : 2))
      for (const int prefix : {0, 15, 126, 500}) {
        const Machine m = machine(isa, 2);
        Part tree{.slot = 0, .chain = World::text(0, prefix, 2), .parents = {-1}, .nodes = {1}};
        for (int n = 1; n < 24; ++n) {
          tree.parents.push_back(static_cast<std::int32_t>(
              mix_seed(5, static_cast<std::uint64_t>(n)) % static_cast<std::uint64_t>(n)));
          tree.nodes.push_back(n + 1);
        }
        World world(*m.ops, model);
        if (prefix > 0) world.read(0, prefix);
        const Rows rows = world.step({tree});
        for (const int leaf : {19, 23}) {
          std::vector<int> path;
          for (int n = leaf; n >= 0; n = tree.parents[at(n)]) path.insert(path.begin(), n);
          World plain(*m.ops, model);
          plain.read(0, prefix + 2);
          for (const int n : path) {
            const Rows alone =
                plain.step({{.slot = 0, .parents = {-1}, .nodes = {tree.nodes[at(n)]}}});
            plain.commit(0, 1);
            expect_same_bytes(alone, {rows[at(2 + n)]},
                              isa + ", " + describe(model) + ", prefix " + std::to_string(prefix) +
                                  ", node " + std::to_string(n));
          }
        }
      }
}

TEST(Attention, batch_mates_change_nothing) {
  for (const Model& model : models()) {
    const Machine m = machine("auto", 3);
    World alone(*m.ops, model), crowded(*m.ops, model);
    alone.read(0, 70);
    crowded.read(1, 333);
    crowded.read(0, 70);
    const Part part{.slot = 0, .chain = World::text(0, 70, 9), .parents = {-1, 0}, .nodes = {4, 5}};
    const Rows expected = alone.step({part});
    Rows rows = crowded.step({{.slot = 1, .chain = World::text(1, 333, 40)}, part});
    rows.erase(rows.begin(), rows.begin() + 40);
    expect_same_bytes(rows, expected, describe(model));
  }
}

TEST(Attention, long_contexts_are_divided_without_a_trace) {
  for (const int window : {0, 700}) {
    Model model;
    model.shape = {.heads = 2, .kv_heads = 1, .head_dim = 16, .scale = 0.25F, .window = window};
    model.rotary_dim = 16;
    const Part part{.slot = 0, .parents = {-1, 0, 0}, .nodes = {4, 5, 6}};
    const auto run = [&](const Machine& m) {
      World world(*m.ops, model, 120);
      world.read(0, 1790);
      return world.step({part});
    };
    const Rows expected = run(machine("scalar", 1));
    expect_near(expected, run(machine("reference", 2)), tolerance(model) * 2, "reference");
    for (const std::string& isa : cpu_isas())
      for (const int threads : {2, 4, 9})
        expect_same_bytes(run(machine(isa, threads)), expected, isa);
  }
}

TEST(Attention, after_keeping_a_path_the_text_goes_on_as_if_it_had_been_plain) {
  for (const Model& model : models()) {
    const Machine m = machine("auto", 2);
    World world(*m.ops, model), plain(*m.ops, model);
    world.read(0, 30);
    plain.read(0, 30);
    world.step({{.slot = 0, .parents = {-1, 0, 0, 2, 3}, .nodes = {1, 2, 3, 4, 5}}});
    Walk walk;
    walk.seqs.push_back({.slot = 0, .path = {0, 2, 3}, .emitted = {}, .scored = {}});
    world.keep(walk);
    world.commit(0, 3);
    plain.step({{.slot = 0, .chain = {1, 3, 4}}});
    plain.commit(0, 3);
    const Part next{.slot = 0, .parents = {-1}, .nodes = {77}};
    expect_same_bytes(world.step({next}), plain.step({next}), describe(model));
  }
}

}  // namespace
}  // namespace foretoken
