// The op table: the CPU backend under every instruction set of this machine against the reference
// backend, and its promise of equal bits: between instruction sets, threads, chunkings, batches,
// and between a node of a tree and the same text as a chain.

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "base/rng.h"

namespace foretoken {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
using Rows = std::vector<std::vector<float>>;

// A standard value for any integers: what a row holds depends on its token and position only.
float value_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto seed = static_cast<std::uint64_t>(a * 1000003 + b);
  const double u = static_cast<double>(mix_seed(seed, static_cast<std::uint64_t>(c)) >> 11U);
  return static_cast<float>(u * 0x1p-52 * 2.0 - 2.0);
}

struct Machine {
  std::string name;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Ops> ops;
};

Machine machine(const std::string& isa, int threads) {
  Machine m{isa + "/" + std::to_string(threads), std::make_unique<ThreadPool>(threads, false), {}};
  const bool is_reference = isa == "reference";
  m.ops = make_backend({.device = is_reference ? "reference" : "cpu",
                        .cpu_isa = is_reference ? "auto" : isa,
                        .gemm_order = "pair"},
                       *m.pool);
  return m;
}

std::vector<std::string> machine_isas() {
  std::vector<std::string> names;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx})
    if (has_isa(detect_cpu(), isa)) names.emplace_back(isa_name(isa));
  return names;
}

// ---- attention in a small world of sequences ----------------------------------------------------

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
  static constexpr int kSlots = 3, kPages = 400, kPositions = 2048;

  World(Ops& ops, const Model& model)
      : ops_(ops), model_(model), trees_(kSlots, 64), table_(kSlots) {
    const AttentionShape& s = model.shape;
    kv_ = {ops.alloc(model.kv, {kPages, s.kv_heads, s.head_dim, kPageTokens}),
           ops.alloc(model.kv, {kPages, s.kv_heads, kPageTokens, s.head_dim})};
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
    PageId next = kPages - 2;
    for (int i = 0; i < (kPages - 2) / kSlots; ++i)
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

void expect_same_bytes(const Rows& a, const Rows& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t r = 0; r < a.size(); ++r)
    ASSERT_EQ(std::memcmp(a[r].data(), b[r].data(), a[r].size() * sizeof(float)), 0)
        << what << ", row " << r;
}

void expect_near(const Rows& a, const Rows& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t i = 0; i < a[r].size(); ++i)
      ASSERT_NEAR(a[r][i], b[r][i], tolerance) << what << ", row " << r << ", element " << i;
}

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

std::string describe(const Model& m) {
  return std::to_string(m.shape.heads) + "/" + std::to_string(m.shape.kv_heads) + " heads of " +
         std::to_string(m.shape.head_dim) + ", " + std::string(dtype_name(m.kv)) + ", window " +
         std::to_string(m.shape.window);
}

// Inputs are within +-2 (after a norm within 1.2 * sqrt(dim)). A score is a chain of dim products
// |q||k|, so off by at most dim * eps * sum|q||k| * scale; rotation and norm add a few ulp of q and
// k. Softmax turns an absolute error e of scores into a relative error 2e of weights, and the sum
// of n values adds n * eps. KV rounding is the same on both sides save where the last bit of a
// rotated key falls on the other side: half a step of the KV format in one of dim products, which
// for 16-bit formats is the larger part.
double tolerance(const Model& m) {
  const double eps = 0x1p-24, dim = m.shape.head_dim, largest = m.qk_norm ? 1.2 * 2.0 : 2.9;
  const double products = dim * largest * largest * m.shape.scale;
  const double step = m.kv == DType::kBF16 ? 0x1p-8 : m.kv == DType::kF16 ? 0x1p-11 : eps;
  const double flips = step * largest * largest * m.shape.scale * 2;
  return 2.0 * (2.0 * ((dim + 8) * eps * products + flips) + 400 * eps);
}

TEST(Attention, agrees_with_the_reference) {
  for (const Model& model : models()) {
    const Rows expected = busy_day(*machine("reference", 2).ops, model);
    for (const std::string& isa : machine_isas())
      expect_near(busy_day(*machine(isa, 2).ops, model), expected, tolerance(model),
                  isa + ", " + describe(model));
  }
}

TEST(Attention, has_the_same_bits_on_every_instruction_set_and_thread_count) {
  for (const Model& model : models()) {
    const Rows expected = busy_day(*machine("scalar", 1).ops, model);
    for (const std::string& isa : machine_isas())
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
  for (const std::string& isa : machine_isas())
    for (const Model& model : models())
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
      World world(*m.ops, model);
      world.read(0, 1790);
      return world.step({part});
    };
    const Rows expected = run(machine("scalar", 1));
    expect_near(expected, run(machine("reference", 2)), tolerance(model) * 8, "reference");
    for (const std::string& isa : machine_isas())
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

// ---- rows --------------------------------------------------------------------------------------

// Runs `op` on machines over rows of odd sizes; inputs are made from the shape alone.
using RowOp = std::function<void(Ops&, Tensor a, Tensor b, Tensor weight, Tensor out)>;

Rows run_rows(Ops& ops, const RowOp& op, std::int64_t rows, std::int64_t width) {
  constexpr float kGuard = -77.0F;
  Batch batch;
  ops.layout({}, DraftTrees(1, 1), SeqTable(1), batch);
  Tensor a = ops.temp(DType::kF32, {rows, width}), b = ops.temp(DType::kF32, {rows, 2 * width});
  Tensor weight = ops.temp(DType::kF32, {width});
  Tensor all = ops.temp(DType::kF32, {rows + 2, width});
  for (std::int64_t i = 0; i < a.elements(); ++i) a.f32()[i] = value_of(1, 0, i);
  for (std::int64_t i = 0; i < b.elements(); ++i) b.f32()[i] = 5.0F * value_of(2, 0, i);
  for (std::int64_t i = 0; i < width; ++i) weight.f32()[i] = value_of(3, 0, i);
  std::fill_n(all.f32(), all.elements(), kGuard);
  const Tensor out = all.rows(1, rows);
  op(ops, a, b, weight, out);
  Rows result;
  for (std::int64_t r = 0; r < rows; ++r) {
    result.emplace_back(out.row_f32(r), out.row_f32(r) + width);
    result.emplace_back(a.row_f32(r), a.row_f32(r) + width);
  }
  for (std::int64_t i = 0; i < width; ++i) {
    EXPECT_EQ(all.row_f32(0)[i], kGuard);
    EXPECT_EQ(all.row_f32(rows + 1)[i], kGuard);
  }
  return result;
}

// relative: allowed error in units of 2^-24 of the largest magnitude that enters an element (10 *
// 2).
void check_row_op(const RowOp& op, double ulps) {
  for (const std::int64_t rows : {1, 3, 70})
    for (const std::int64_t width : {1, 15, 16, 17, 129, 1000}) {
      const std::string what = std::to_string(rows) + " x " + std::to_string(width);
      const Rows expected = run_rows(*machine("reference", 1).ops, op, rows, width);
      const Rows first = run_rows(*machine("scalar", 1).ops, op, rows, width);
      expect_near(first, expected, ulps * 0x1p-24 * 20.0, what);
      for (const std::string& isa : machine_isas())
        expect_same_bytes(run_rows(*machine(isa, 3).ops, op, rows, width), first, isa + " " + what);
    }
}

// The sum of n squares in sixteen chains is off by at most n / 16 + 4 roundings, the root by half
// as much; the root of a single small value magnifies nothing because x stands above it too.
TEST(Rows, norm) {
  check_row_op([](Ops& ops, Tensor a, Tensor, Tensor w, Tensor out) { ops.norm(a, w, 1e-5F, out); },
               1000.0 / 32 + 8);
}

TEST(Rows, add_norm) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor b, Tensor w, Tensor out) {
        const Tensor delta(b.f32(), DType::kF32, {a.dim(0), a.dim(1)});
        ops.add_norm(a, delta, w, 1e-5F, out);
      },
      1000.0 / 32 + 8);
}

TEST(Rows, add) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor b, Tensor, Tensor out) {
        ops.add(a, Tensor(b.f32(), DType::kF32, {a.dim(0), a.dim(1)}));
        std::copy_n(a.f32(), a.elements(), out.f32());
      },
      0.0);
}

TEST(Rows, gated_act) {
  check_row_op([](Ops& ops, Tensor, Tensor b, Tensor, Tensor out) { ops.gated_act(b, out); },
               10.0 * 6);
}

TEST(Rows, gated_act_of_extreme_gates) {
  for (const std::string& isa : machine_isas()) {
    const Machine m = machine(isa, 1);
    std::vector<float> gate_up{-200.0F, 200.0F, -1e30F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F};
    std::vector<float> out(4);
    m.ops->gated_act(Tensor(gate_up.data(), DType::kF32, {1, 8}),
                     Tensor(out.data(), DType::kF32, {1, 4}));
    EXPECT_EQ(out, (std::vector<float>{0.0F, 200.0F, 0.0F, 0.0F})) << isa;
  }
}

TEST(Rows, gather_rows) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor, Tensor, Tensor out) {
        std::vector<std::int32_t> rows;
        for (std::int64_t r = a.dim(0); r > 0; --r)
          rows.push_back(static_cast<std::int32_t>(r - 1));
        ops.gather_rows(a, rows, out);
      },
      0.0);
}

// Weights [out, in] of a dtype, packed by a machine.
std::unique_ptr<PackedLinear> pack(Ops& ops, DType dtype, std::int64_t out, std::int64_t first,
                                   std::int64_t in) {
  std::vector<float> w(at(out * in));
  for (std::int64_t n = 0; n < out; ++n)
    for (std::int64_t k = 0; k < in; ++k) w[at(n * in + k)] = value_of(4, n, first + k);
  const Tensor weight(w.data(), DType::kF32, {out, in});
  return ops.pack({.weights = std::span(&weight, 1), .biases = {}, .dtype = dtype});
}

TEST(Rows, embed_reads_rows_exactly) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    for (const std::int64_t width : {5, 33, 64}) {
      const std::vector<Token> tokens{0, 36, 7, 7};
      const auto run = [&](const Machine& m) {
        const auto table = pack(*m.ops, dtype, 37, 0, width);
        std::vector<float> out(tokens.size() * at(width));
        m.ops->embed(*table, tokens, Tensor(out.data(), DType::kF32, {4, width}));
        return Rows{out};
      };
      const Rows expected = run(machine("reference", 1));
      for (const std::string& isa : machine_isas())
        expect_same_bytes(run(machine(isa, 2)), expected, isa);
    }
}

TEST(Rows, linear_agrees_with_the_reference) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    for (const std::int64_t in : {7, 64, 161})
      for (const std::int64_t rows : {1, 5, 40}) {
        const auto run = [&](const Machine& m) {
          const auto w = pack(*m.ops, dtype, 45, 0, in);
          std::vector<float> x(at(rows * in)), y(at(rows * 45));
          for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = value_of(6, 6, static_cast<std::int64_t>(i));
          m.ops->linear(*w, Tensor(x.data(), DType::kF32, {rows, in}),
                        Tensor(y.data(), DType::kF32, {rows, 45}));
          return Rows{y};
        };
        // A sum of `in` products of at most 4 each, in any order.
        const double bound = static_cast<double>(in * in) * 4.0 * 0x1p-24;
        const Rows expected = run(machine("reference", 2));
        for (const std::string& isa : machine_isas())
          expect_near(run(machine(isa, 2)), expected, bound, isa);
      }
}

// The negative control of every test of equal bits above: a sum that two workers share is seen.
TEST(Rows, splitting_k_would_be_noticed) {
  constexpr std::int64_t kIn = 256, kOut = 64;
  const Machine m = machine("auto", 2);
  std::vector<float> x(kIn), whole(kOut), left(kOut), right(kOut);
  for (std::int64_t i = 0; i < kIn; ++i) x[at(i)] = value_of(6, 6, i);
  const auto linear = [&](std::int64_t first, std::int64_t in, std::vector<float>& y) {
    const auto w = pack(*m.ops, DType::kBF16, kOut, first, in);
    m.ops->linear(*w, Tensor(x.data() + first, DType::kF32, {1, in}),
                  Tensor(y.data(), DType::kF32, {1, kOut}));
  };
  linear(0, kIn, whole);
  linear(0, kIn / 2, left);
  linear(kIn / 2, kIn / 2, right);
  for (std::int64_t i = 0; i < kOut; ++i) left[at(i)] += right[at(i)];
  EXPECT_NE(std::memcmp(left.data(), whole.data(), kOut * sizeof(float)), 0);
  expect_near({left}, {whole}, 1e-3, "the split sum is the same sum");
}

// ---- the factory
// ---------------------------------------------------------------------------------

TEST(Backend, unknown_names_are_refused) {
  ThreadPool pool(1);
  EXPECT_THROW(make_backend({.device = "abacus"}, pool), Error);
  EXPECT_THROW(make_backend({.cpu_isa = "mmx"}, pool), Error);
  EXPECT_THROW(make_backend({.gemm_order = "random"}, pool), Error);
}

TEST(Backend, the_description_names_what_was_chosen) {
  EXPECT_EQ(machine("scalar", 1).ops->description(), "cpu scalar, pair order, 1 threads");
}

// Absent instruction sets appear by name in the report of the tests.
TEST(Backend, instruction_sets_of_this_machine) {
  std::string missing;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx})
    if (!has_isa(detect_cpu(), isa)) missing += " " + std::string(isa_name(isa));
  if (!missing.empty()) GTEST_SKIP() << "not tested, because this machine lacks it:" << missing;
}

}  // namespace
}  // namespace foretoken
