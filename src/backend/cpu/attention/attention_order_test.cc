// Attention over KV of bf16, byte for byte what docs/develop/numerics.md says, in both orders, on
// every instruction set and on tile registers in software; and that nothing which a row does not
// see reaches it.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/attention/attention.h"
#include "backend/cpu/matmul/gemm.h"
#include "backend/cpu/select/select_kernels.h"
#include "backend/cpu/testing/amx_model.h"
#include "backend/cpu/testing/attention_model.h"
#include "backend/host/host_step.h"
#include "backend/testing/attention_test_kit.h"

namespace foretoken::attention_order_test {
namespace {

Model model_of(int heads, int kv_heads, int dim, int window) {
  return {.shape = {.heads = heads,
                    .kv_heads = kv_heads,
                    .head_dim = dim,
                    .scale = 1.0F / std::sqrt(static_cast<float>(dim)),
                    .window = window},
          .kv = DType::kBF16,
          .rotary_dim = dim};
}

// Values of few models.
struct Uncommon {
  float cap = 0;
  bool sinks = false;
};
Model with(int heads, int kv_heads, int dim, Uncommon values) {
  Model model = model_of(heads, kv_heads, dim, 0);
  model.shape.score_cap = values.cap;
  model.has_sinks = values.sinks;
  return model;
}

// Values are the beginnings of keys.
Model latent(int heads, int value, int rotated) {
  Model model = model_of(heads, 1, value + rotated, 0);
  model.shape.value_dim = value;
  model.rotary_dim = rotated;
  return model;
}

// Groups of 1, 2, 4 and 7 queries, heads that fill lines and blocks of 32 and heads that do not.
std::vector<Model> models() {
  return {model_of(4, 1, 64, 0),
          model_of(2, 2, 16, 20),
          model_of(7, 1, 96, 150),
          model_of(4, 2, 80, 0),
          model_of(8, 1, 128, 33),
          model_of(2, 1, 6, 0),
          model_of(14, 1, 32, 0),
          model_of(3, 3, 40, 1),
          with(4, 1, 64, {.cap = 1.5F}),
          with(4, 2, 32, {.sinks = true}),
          with(6, 2, 96, {.cap = 0.7F, .sinks = true}),
          latent(8, 32, 32),
          latent(5, 36, 8),
          latent(1, 64, 32)};
}

const std::uint16_t* bf16_of(const Tensor& t) {
  return static_cast<const std::uint16_t*>(t.data());
}

// What the definition makes of the world's last step.
Rows defined(const World& world, const Model& model, bool pair_order) {
  const FlushDenormals flush;
  const AttentionShape& s = model.shape;
  const Batch& batch = world.batch();
  const KvLayer& kv = world.kv();
  const auto dim = at(s.head_dim), out_dim = at(s.out_dim());
  Rows rows;
  for (int r = 0; r < batch.rows; ++r) {
    std::vector<std::int32_t> slots;
    visible_slots(batch, r, slots);
    std::vector<float>& out = rows.emplace_back(at(s.heads) * out_dim);
    const auto unseen = static_cast<std::size_t>(batch.position[at(r)] + 1 -
                                                 static_cast<std::int32_t>(slots.size()));
    const int position = static_cast<int>(unseen + slots.size()) - 1;
    for (int h = 0; h < s.heads; ++h) {
      const int kv_head = h / (s.heads / s.kv_heads);
      std::vector<std::uint16_t> k(slots.size() * dim), v(k.size());
      std::vector<const std::uint16_t*> key_at(at(position + 1)), value_at(key_at.size());
      for (std::size_t j = 0; j < slots.size(); ++j) {
        for (int d = 0; d < s.head_dim; ++d) {
          k[j * dim + at(d)] = bf16_of(kv.k)[host_key_at(kv, slots[j], kv_head, d)];
          v[j * dim + at(d)] = s.has_stored_values()
                                   ? bf16_of(kv.v)[host_value_at(kv, slots[j], kv_head, d)]
                                   : k[j * dim + at(d)];
        }
        key_at[unseen + j] = k.data() + j * dim;
        value_at[unseen + j] = v.data() + j * dim;
      }
      const int windowed = s.window > 0 ? std::max(0, position - s.window + 1) : 0;
      model_attention({.pair_order = pair_order,
                       .head_dim = s.head_dim,
                       .value_dim = s.out_dim(),
                       .scale = s.scale,
                       .q = world.queries().row_f32(r) + h * s.head_dim,
                       .k = key_at.data(),
                       .v = value_at.data(),
                       .low = std::max(windowed, static_cast<int>(unseen)),
                       .position = position,
                       .cap = s.score_cap,
                       .sink = kv.sinks.empty() ? nullptr : kv.sinks.f32() + h},
                      out.data() + at(h) * out_dim);
    }
  }
  return rows;
}

// The same by some kernels.
Rows attended(const World& world, const Model& model, const OpKernels& kernels, ThreadPool& pool) {
  CpuAttention attention(kernels, pool);
  const std::int64_t width = std::int64_t{model.shape.heads} * model.shape.out_dim();
  std::vector<float> out(at(world.batch().rows * width));
  attention.run(world.queries(), world.kv(), attention.plan(model.shape, world.batch()),
                Tensor(out.data(), DType::kF32, {world.batch().rows, width}), {});
  Rows rows;
  for (int r = 0; r < world.batch().rows; ++r)
    rows.emplace_back(out.data() + r * width, out.data() + (r + 1) * width);
  return rows;
}

// A step of a world and the name of what it is.
struct Scene {
  std::string name;
  std::int32_t read;
  Part part;
};

// Rows and nodes on both sides of borders of pairs, blocks of 32, blocks and spans.
std::vector<Scene> scenes() {
  std::vector<Scene> all;
  for (const int length : {0, 31, 127, 511})
    for (const int rows : {1, 70})
      all.push_back({std::to_string(rows) + " rows from " + std::to_string(length),
                     length,
                     {.slot = 0, .chain = World::text(0, length, rows)}});
  for (const int length : {0, 119, 505}) {
    Part bushy{.slot = 0, .chain = World::text(0, length, 3), .parents = {-1}, .nodes = {1}};
    for (int n = 1; n < 30; ++n) {
      bushy.parents.push_back(n < 12 ? n - 1 : n / 3);
      bushy.nodes.push_back(n + 1);
    }
    all.push_back({"tree after " + std::to_string(length), length, bushy});
  }
  return all;
}

TEST(AttentionOrder, has_the_bits_of_the_definition) {
  ThreadPool pool(1);
  for (const Model& model : models())
    for (const std::string order : {"tile", "pair"})
      for (const Scene& scene : scenes()) {
        const Machine scalar = machine("scalar", 1, order);
        World world(*scalar.ops, model);
        world.read(0, scene.read);
        const Rows rows = world.step({scene.part});
        const std::string what = order + ", " + describe(model) + ", " + scene.name;
        expect_same_bytes(rows, defined(world, model, order == "pair"), what);
        for (const std::string& isa : cpu_isas()) {
          KernelTable table = select_kernels(select_isa(isa, detect_cpu()));
          if (order == "pair") table.ops.attention[0] = table.ops.attention_pair;
          expect_same_bytes(attended(world, model, table.ops, pool), rows, isa + ", " + what);
        }
        if (order == "tile")
          expect_same_bytes(attended(world, model, amx_model_kernels().ops, pool), rows,
                            "tiles, " + what);
      }
}

// Values of later rows are infinite, and one side of a pair may be.
TEST(AttentionOrder, what_a_row_does_not_see_may_be_anything) {
  ThreadPool pool(1);
  const Model model = model_of(4, 1, 64, 0);
  for (const int length : {0, 125, 159}) {
    const Machine scalar = machine("scalar", 1, "tile");
    World world(*scalar.ops, model);
    world.read(0, length);
    Rows rows = world.step({{.slot = 0, .chain = World::text(0, length, 20)}});
    constexpr int kFinite = 10;  // in the middle of an item of four rows
    const KvLayer& kv = world.kv();
    for (int r = kFinite; r < 20; ++r)
      for (int d = 0; d < model.shape.head_dim; ++d)
        static_cast<std::uint16_t*>(
            kv.v.data())[host_value_at(kv, world.batch().kv_slot[at(r)], 0, d)] = 0x7f80;
    rows.resize(kFinite);
    const auto check = [&](const OpKernels& kernels, const std::string& what) {
      Rows found = attended(world, model, kernels, pool);
      EXPECT_TRUE(std::isinf(found.back()[0])) << what;
      found.resize(kFinite);
      expect_same_bytes(found, rows, what + " from " + std::to_string(length));
    };
    for (const std::string& isa : cpu_isas())
      check(select_kernels(select_isa(isa, detect_cpu())).ops, isa);
    check(amx_model_kernels().ops, "tiles");
  }
}

// A row sees scores that are all infinite, too: what it makes of a block of them is no number.
TEST(AttentionOrder, a_block_of_infinite_scores_is_seen) {
  ThreadPool pool(1);
  const Model model = model_of(4, 1, 64, 0);
  constexpr int kRows = 20;
  for (const int length : {0, 125, 300}) {
    const Machine scalar = machine("scalar", 1, "tile");
    World world(*scalar.ops, model);
    world.read(0, length);
    world.step({{.slot = 0, .chain = World::text(0, length, kRows)}});
    const KvLayer& kv = world.kv();
    const int start = (length + kRows - 1) / kAttnBlock * kAttnBlock;
    std::vector<std::int32_t> slots;
    visible_slots(world.batch(), kRows - 1, slots);
    for (std::size_t position = at(start); position < slots.size(); ++position)
      static_cast<std::uint16_t*>(kv.k.data())[host_key_at(kv, slots[position], 0, 0)] = 0xff80;
    const auto check = [&](const OpKernels& kernels, const std::string& what) {
      const Rows found = attended(world, model, kernels, pool);
      for (int r = 0; r < kRows; ++r)
        for (const float value : found[at(r)])
          ASSERT_EQ(std::isnan(value), length + r >= start) << what << ", row " << length + r;
    };
    for (const std::string& isa : cpu_isas())
      check(select_kernels(select_isa(isa, detect_cpu())).ops, isa);
    check(amx_model_kernels().ops, "tiles");
  }
}

}  // namespace
}  // namespace foretoken::attention_order_test
