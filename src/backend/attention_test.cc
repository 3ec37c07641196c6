// Attention of the CPU backend, with rotation and KV store before it, against the reference
// backend, and its promise of equal bits: between instruction sets, threads, chunkings, batches,
// and between a node of a tree and the same text as a chain.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/attention_test_kit.h"

namespace foretoken {
namespace {

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

// Under the address sanitizer a part of them.
std::vector<Model> sampled(std::vector<Model> all) {
#ifdef FORETOKEN_SANITIZES_ADDRESSES
  std::vector<Model> some;
  for (std::size_t i = 0; i < all.size(); i += 4) some.push_back(all[i]);
  return some;
#endif
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
  add(4, 2, 128, DType::kBF16, 20, true);
  all.back().pairs = 21;
  add(2, 2, 96, DType::kF32, 0, false);
  all.back().rotary_dim = 64;
  all.back().pairs = 5;
  add(70, 1, 16, DType::kBF16, 0, false);
  add(6, 2, 64, DType::kI8, 0, false);
  add(4, 4, 80, DType::kF8E4M3, 0, false);
  add(8, 1, 24, DType::kF8E5M2, 20, false);
  add(3, 3, 6, DType::kI8, 130, false);
  add(4, 2, 32, DType::kBF16, 0, true);
  all.back().shape.chunk = 20;
  add(6, 2, 64, DType::kI8, 0, false);
  all.back().shape.chunk = 17;
  add(2, 1, 64, DType::kF32, 9, false);
  all.back().shape.chunk = 150;
  // Capped scores, sinks and heads that are not rotated, alone and together.
  for (const DType kv : {DType::kBF16, DType::kF16, DType::kI8}) {
    add(6, 2, 64, kv, 0, false);
    all.back().shape.score_cap = 1.5F;
    add(4, 2, 32, kv, 20, false);
    all.back().has_sinks = true;
    add(8, 1, 128, kv, 130, true);
    all.back().shape.score_cap = 0.7F;
    all.back().has_sinks = true;
    all.back().rotary_dim = 0;
  }
  // Values that are parts of keys: the latent, then what rotates.
  const auto add_latent = [&](int heads, int value, int rotated, DType kv, int window) {
    add(heads, 1, value + rotated, kv, window, false);
    all.back().shape.value_dim = value;
    all.back().rotary_dim = rotated;
  };
  add_latent(6, 64, 16, DType::kBF16, 0);
  add_latent(4, 96, 32, DType::kBF16, 130);
  add_latent(3, 18, 6, DType::kBF16, 0);
  add_latent(5, 40, 8, DType::kF16, 20);
  add_latent(16, 24, 6, DType::kF32, 0);
  add_latent(4, 64, 16, DType::kI8, 0);
  add_latent(3, 32, 8, DType::kF8E4M3, 0);
  add_latent(2, 17, 4, DType::kF8E5M2, 130);
  all.back().has_sinks = true;
  all.back().shape.score_cap = 1.5F;
  return sampled(std::move(all));
}

std::vector<Model> first_models(std::size_t count) {
  std::vector<Model> some = models();
  some.resize(std::min(count, some.size()));
  return some;
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
    for (const Model& model : first_models(isa == cpu_isas().back() ? 40 : 2))
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

// With one KV head every item gets one of the four spans; with four and two threads it gets two.
TEST(Attention, long_contexts_are_divided_without_a_trace) {
  for (const auto& [kv_heads, window, kv] : {std::tuple{1, 0, DType::kBF16},
                                             {1, 700, DType::kBF16},
                                             {4, 0, DType::kF8E4M3},
                                             {4, 1500, DType::kBF16},
                                             {1, 0, DType::kI8}}) {
    Model model;
    model.kv = kv;
    model.shape = {.heads = 2 * kv_heads,
                   .kv_heads = kv_heads,
                   .head_dim = 16,
                   .scale = 0.25F,
                   .window = window};
    model.rotary_dim = 16;
    if (window == 700 || kv == DType::kI8) {
      model.shape.score_cap = 2.0F;
      model.has_sinks = true;
    }
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
    walk.seqs.push_back(
        {.slot = 0, .path = {0, 2, 3}, .emitted = {}, .foreseen = {}, .scored = {}});
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
