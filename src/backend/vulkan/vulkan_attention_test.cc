// Rotation, KV store, attention and the moves of accepted KV on a device of Vulkan against the CPU's
// tile order, byte for byte. The device is llvmpipe (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE;
// skipped by name where there is none.

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/gpu_test_kit.h"
#include "backend/testing/ops_test_kit.h"
#include "tensor/buffer.h"

namespace foretoken::vulkan_attention_test {
namespace {

struct Layer {
  AttentionShape shape;
  int rotary_dim = 0;
  bool has_norm = false, norms_keys = false, has_sinks = false, pairs_neighbours = false;
  DType kv = DType::kBF16;
};

Layer layer(int heads, int kv_heads, int dim, int window = 0, float cap = 0) {
  return {.shape = {.heads = heads,
                    .kv_heads = kv_heads,
                    .head_dim = dim,
                    .scale = 1.0F / std::sqrt(static_cast<float>(dim)),
                    .window = window,
                    .score_cap = cap},
          .rotary_dim = dim / 4 * 4};
}

// Values are the first elements of keys.
Layer latent_layer(int heads, int value, int rotated, DType kv = DType::kBF16) {
  Layer of = layer(heads, 1, value + rotated);
  of.shape.value_dim = value;
  of.rotary_dim = rotated;
  of.kv = kv;
  of.pairs_neighbours = heads % 2 == 0;
  return of;
}

// One slot's part of a step: a chain, then a tree by parents (may be empty).
struct Part {
  SeqSlot slot = 0;
  int chain = 0;
  std::vector<std::int32_t> parents = {};
};

// One layer's cache of two sequences on one backend; unwritten keys and values are NaN.
class Cache {
 public:
  static constexpr int kSlots = 2, kSlotPages = 150, kPositions = 2400;

  Cache(Ops& ops, const Layer& layer)
      : ops_(ops), layer_(layer), trees_(kSlots, 64), table_(kSlots) {
    const AttentionShape& s = layer.shape;
    kv_ = ops.alloc_kv({.layers = 1,
                        .kv_heads = s.kv_heads,
                        .head_dim = s.head_dim,
                        .dtype = layer.kv,
                        .has_values = s.has_stored_values()},
                       kSlots * kSlotPages)[0];
    for (const Tensor& part : {kv_.k, kv_.v, kv_.k_scale, kv_.v_scale}) {
      if (part.empty()) continue;
      const Buffer nan(part.bytes());
      std::memset(nan.data(), 0xff, part.bytes());
      ops.upload(nan.view(part.dtype(), part.shape()), part);
    }
    if (layer.rotary_dim > 0) {
      const std::int64_t half = layer.rotary_dim / 2;
      rope_ = {kept({kPositions, half}, 1), kept({kPositions, half}, 2), layer.rotary_dim};
    }
    if (layer.norms_keys) norm_ = {{}, kept({s.head_dim}, 4), 0.01F};
    if (layer.has_norm) norm_ = {kept({s.head_dim}, 3), kept({s.head_dim}, 4), 0.01F};
    if (layer.has_sinks) kv_.sinks = kept({s.heads}, 5);
    PageId next = kSlots * kSlotPages - 1;
    for (int i = 0; i < kSlotPages; ++i)
      for (auto& pages : table_.pages) pages.push_back(next--);
  }

  Rows step(const std::vector<Part>& parts, std::int32_t first_slot = 0) {
    StepPlan plan;
    std::vector<std::vector<Token>> chains;
    for (const Part& part : parts) chains.emplace_back(at(part.chain), 5);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      StepEntry entry{.slot = part.slot, .chain = chains[p], .has_tree = !part.parents.empty()};
      if (entry.has_tree) {
        trees_.plant(part.slot, 7);
        for (std::size_t n = 1; n < part.parents.size(); ++n)
          trees_.grow(part.slot, part.parents[n], static_cast<Token>(n));
      }
      plan.entries.push_back(entry);
    }
    ops_.layout(plan, trees_, table_, batch_);
    for (BatchSeq& seq : batch_.seqs) seq.first_slot = first_slot;
    const AttentionShape& s = layer_.shape;
    const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
    const Tensor out = ops_.temp(DType::kF32, {batch_.rows, s.heads * s.out_dim()});
    const Tensor q = temp({batch_.rows, s.heads * s.head_dim}, 500 + steps_);
    if (s.has_stored_values()) {
      const Tensor qkv = temp({batch_.rows, width}, 100 + steps_);
      ops_.rope_store_kv(qkv, rope_, norm_, s, batch_, kv_, q);
    } else {
      constexpr std::int64_t kBefore = 5;  // elements of a query that do not rotate
      const LatentRows rows{
          .kv = temp({batch_.rows, s.head_dim}, 100 + steps_),
          .q = temp({batch_.rows, s.heads * (kBefore + layer_.rotary_dim)}, 300 + steps_),
          .norm = temp({s.value_dim}, 3),
          .eps = 0.5F,
          .pairs_neighbours = layer_.pairs_neighbours};
      ops_.store_latent(rows, rope_, s, batch_, kv_, q);
    }
    ++steps_;
    ops_.attention(q, kv_, ops_.plan_attention(s, batch_), out);
    return read_all_rows(ops_, out);
  }
  void commit(SeqSlot slot, int tokens) { table_.length[at(slot)] += tokens; }
  void keep(const std::vector<std::int32_t>& path) {
    Walk walk;
    walk.seqs.push_back({.slot = 0, .path = path, .emitted = {}, .foreseen = {}, .scored = {}});
    ops_.kv_keep(walk, batch_, std::span(&kv_, 1));
  }

 private:
  Tensor filled(const Tensor& to, int kind) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < to.elements(); ++i) values.push_back(value_of(kind, 9, i));
    ops_.upload(Tensor(values.data(), DType::kF32, to.shape()), to);
    return to;
  }
  Tensor kept(Shape shape, int kind) { return filled(ops_.alloc(DType::kF32, shape), kind); }
  Tensor temp(Shape shape, int kind) { return filled(ops_.temp(DType::kF32, shape), kind); }
  Ops& ops_;
  Layer layer_;
  DraftTrees trees_;
  SeqTable table_;
  KvLayer kv_;
  RopeTable rope_;
  QkNorm norm_;
  Batch batch_;
  int steps_ = 0;
};

class VulkanAttentionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = why_no_test_device();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    cpu_ = make_backend({.device = "cpu", .gemm_order = "tile"}, pool_);
    gpu_ = make_backend({.device = test_device(), .gemm_order = "tile"}, pool_);
  }
  ThreadPool pool_{2, false};
  std::unique_ptr<Ops> cpu_, gpu_;
};

const std::vector<std::int32_t> kTree{-1, 0, 0, 1, 1, 2, 4, 6, 2, 7};

// Two texts that grow by chunks and trees, a part of which is kept.
void expect_bits_of_cpu(Ops& cpu_ops, Ops& gpu_ops, const Layer& of) {
  const std::string what = std::to_string(of.shape.heads) + " heads of " +
                           std::to_string(of.shape.head_dim) + ", kept as " +
                           std::string(dtype_name(of.kv)) + ", step ";
  Cache cpu(cpu_ops, of), gpu(gpu_ops, of);
  int number = 0;
  const auto step = [&](const std::vector<Part>& parts, std::int32_t first_slot = 0) {
    const Rows expected = cpu.step(parts, first_slot);
    expect_same_bytes(gpu.step(parts, first_slot), expected, what + std::to_string(number++));
  };
  const auto commit = [&](SeqSlot slot, int tokens) {
    cpu.commit(slot, tokens);
    gpu.commit(slot, tokens);
  };
  step({{.slot = 0, .chain = 90}, {.slot = 1, .chain = 13}});
  commit(0, 90), commit(1, 13);
  step({{.slot = 0, .chain = 41, .parents = kTree}, {.slot = 1, .parents = {-1}}});
  const std::vector<std::int32_t> path{0, 2, 5};
  cpu.keep(path), gpu.keep(path);
  commit(0, 44), commit(1, 1);
  step({{.slot = 0, .parents = {-1}}, {.slot = 1, .chain = 1, .parents = kTree}}, 1);
  commit(0, 1);
  step({{.slot = 0, .chain = 3}});
}

TEST_F(VulkanAttentionTest, chains_trees_and_batches_have_the_bits_of_the_cpu) {
  Layer normed = layer(4, 2, 64), sinking = layer(6, 2, 32), capped = layer(4, 1, 64, 0, 1.5F);
  normed.has_norm = true;
  sinking.has_sinks = true;
  Layer unrotated = layer(2, 1, 16);
  unrotated.rotary_dim = 0;
  Layer cut = layer(4, 2, 32), cut_and_windowed = layer(2, 1, 64, 30);
  cut.shape.chunk = 20;
  cut.norms_keys = true;
  cut_and_windowed.shape.chunk = 133;
  for (const Layer& of :
       {layer(4, 1, 64), layer(2, 2, 16, 20), layer(7, 1, 96, 150), layer(4, 2, 80),
        layer(2, 1, 256), layer(2, 1, 6), layer(2, 1, 258), layer(2, 1, 512, 100),
        layer(1, 1, 1024), normed, sinking, capped, unrotated, cut, cut_and_windowed})
    expect_bits_of_cpu(*cpu_, *gpu_, of);
}

TEST_F(VulkanAttentionTest, trees_of_as_many_nodes_as_there_may_be_have_the_bits_of_the_cpu) {
  std::vector<std::int32_t> parents{-1};
  for (std::int32_t node = 1; node < kMaxTreeNodes; ++node) parents.push_back((node - 1) / 2 * 2);
  const Layer of = layer(4, 2, 64);
  Cache cpu(*cpu_, of), gpu(*gpu_, of);
  for (Cache* cache : {&cpu, &gpu}) cache->step({{.slot = 0, .chain = 70}}), cache->commit(0, 70);
  const std::vector<Part> tree{{.slot = 0, .parents = parents}};
  expect_same_bytes(gpu.step(tree), cpu.step(tree), "a tree of all nodes");
}

TEST_F(VulkanAttentionTest, keys_and_values_of_other_kinds_have_the_bits_of_the_cpu) {
  for (const DType kv : {DType::kF16, DType::kF32, DType::kI8, DType::kF8E4M3, DType::kF8E5M2}) {
    Layer plain = layer(4, 2, 48), mixed = layer(7, 1, 96, 150, 1.5F);
    mixed.has_norm = mixed.has_sinks = true;
    for (Layer of : {plain, mixed}) {
      of.kv = kv;
      expect_bits_of_cpu(*cpu_, *gpu_, of);
    }
  }
}

TEST_F(VulkanAttentionTest, latents_have_the_bits_of_the_cpu) {
  for (const Layer& of :
       {latent_layer(6, 64, 16), latent_layer(3, 18, 6), latent_layer(16, 512, 64),
        latent_layer(5, 40, 8, DType::kF16), latent_layer(4, 24, 6, DType::kF32),
        latent_layer(4, 64, 16, DType::kI8), latent_layer(3, 32, 8, DType::kF8E4M3)})
    expect_bits_of_cpu(*cpu_, *gpu_, of);
}

TEST_F(VulkanAttentionTest, products_of_heads_have_the_bits_of_the_cpu) {
  const std::int64_t heads = 3, in = 40, out = 24, from = 45, to = 31, rows = 9;
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
    const auto result = [&](Ops& ops) {
      std::vector<std::unique_ptr<PackedLinear>> w;
      for (std::int64_t h = 0; h < heads; ++h) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < out * in; ++i) values.push_back(value_of(h, 2, i));
        const Tensor matrix(values.data(), DType::kF32, {out, in});
        w.push_back(ops.pack({.weights = {&matrix, 1}, .biases = {}, .dtype = dtype}));
      }
      Batch batch;
      ops.layout({}, DraftTrees(1, 1), SeqTable(1), batch);
      std::vector<float> values;
      for (std::int64_t i = 0; i < rows * heads * (from + to); ++i)
        values.push_back(value_of(8, 3, i));
      const Tensor x = ops.temp(DType::kF32, {rows, heads * from});
      const Tensor y = ops.temp(DType::kF32, {rows, heads * to});
      ops.upload(Tensor(values.data(), DType::kF32, x.shape()), x);
      ops.upload(Tensor(values.data() + x.elements(), DType::kF32, y.shape()), y);
      ops.linear_heads(w, x, y);
      std::vector<std::int32_t> all(at(rows));
      std::iota(all.begin(), all.end(), 0);
      std::vector<float> found;
      ops.read_rows(y, all, found);
      ops.read_back();
      return Rows{found};
    };
    expect_same_bytes(result(*gpu_), result(*cpu_), std::string(dtype_name(dtype)));
  }
}

TEST_F(VulkanAttentionTest, long_texts_over_blocks_and_spans) {
  for (const Layer& of : {layer(2, 1, 64), layer(2, 1, 64, 600)}) {
    Cache cpu(*cpu_, of), gpu(*gpu_, of);
    for (const int chunk : {511, 1, 2, 380, 250}) {
      const std::vector<Part> parts{{.slot = 0, .chain = chunk}};
      const Rows expected = cpu.step(parts);
      expect_same_bytes(gpu.step(parts), expected, "chunk of " + std::to_string(chunk));
      cpu.commit(0, chunk), gpu.commit(0, chunk);
    }
    const std::vector<Part> tree{{.slot = 0, .parents = kTree}};
    const Rows expected = cpu.step(tree);
    expect_same_bytes(gpu.step(tree), expected, "tree behind 1144 positions");
  }
}

// Few rows are cut into blocks, more of them into spans, many not at all.
TEST_F(VulkanAttentionTest, however_the_positions_are_cut_the_bits_are_the_same) {
  Layer of = layer(16, 1, 16, 1900);
  of.has_sinks = true;
  Cache cpu(*cpu_, of), gpu(*gpu_, of);
  for (const int chunk : {2200, 60, 1}) {
    const std::vector<Part> parts{{.slot = 0, .chain = chunk}};
    const Rows expected = cpu.step(parts);
    expect_same_bytes(gpu.step(parts), expected, "chunk of " + std::to_string(chunk));
    cpu.commit(0, chunk), gpu.commit(0, chunk);
  }
}

}  // namespace
}  // namespace foretoken::vulkan_attention_test
