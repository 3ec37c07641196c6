// Layers that keep a state on a device of Vulkan against the CPU, byte for byte: chains over blocks,
// trees that end blocks, accepted nodes, snapshots; and gates. The device is llvmpipe
// (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE; skipped by name where there is none.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/gpu_fixture_test_kit.h"
#include "backend/testing/ops_test_kit.h"
#include "backend/testing/recurrent_test_kit.h"
#include "batch/commit.h"

namespace foretoken::vulkan_states_test {
namespace {

// Those, one of wide heads, and one whose dt is bounded.
std::vector<RecurrentKind> kinds() {
  std::vector<RecurrentKind> all = recurrent_kinds();
  RecurrentKind bounded = *std::ranges::find(all, std::string("mamba"), &RecurrentKind::name);
  bounded.name = "bounded_mamba";
  bounded.shape.least_dt = 0.3F;
  bounded.shape.most_dt = 1.2F;
  all.push_back(bounded);
  all.push_back({"wide_delta",
                 {.channels = 2 * 128 + 2 * 130,
                  .taps = 2,
                  .key_heads = 1,
                  .value_heads = 2,
                  .key_dim = 128,
                  .value_dim = 130,
                  .first = {.query = 0, .key = 128, .value = 256},
                  .corrects = true,
                  .normalises_qk = true}});
  return all;
}

// One slot's part of a step: a chain, then a tree by parents (may be empty).
struct Part {
  SeqSlot slot = 0;
  int chain = 0;
  std::vector<std::int32_t> parents = {};
};

// One layer of two sequences on one backend.
class Layer {
 public:
  Layer(Ops& ops, const RecurrentShape& shape) : ops_(ops), shape_(shape) {
    KvShape kv{.layers = 1, .kv_heads = 1, .head_dim = 16};
    kv.keeps_state = {true};
    kv.recurrent = shape;
    kv.slots = 2;
    kv.snapshots = 2;
    layers_ = ops.alloc_kv(kv, 32);
    weights_ = {.taps = kept({shape.taps, shape.channels}, 1, 0.4F),
                .taps_bias = kept({shape.channels}, 2, 0.2F),
                .has_silu = true};
    PageId next = 0;
    for (auto& pages : table_.pages)
      for (int i = 0; i < 16; ++i) pages.push_back(next++);
    if (!shape.has_state()) return;
    weights_.dt_bias = kept({shape.value_heads}, 3, 2);
    weights_.rate = kept({shape.value_heads}, 4, 0.2F);
    weights_.skip = kept({shape.value_heads}, 5, 1);
  }

  Rows step(const std::vector<Part>& parts) {
    StepPlan plan;
    std::vector<std::vector<Token>> chains;
    for (const Part& part : parts) chains.emplace_back(at(part.chain), 5);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      if (!part.parents.empty()) trees_.plant(part.slot, 7);
      for (std::size_t n = 1; n < part.parents.size(); ++n)
        trees_.grow(part.slot, part.parents[n], static_cast<Token>(n));
      plan.entries.push_back(
          {.slot = part.slot, .chain = chains[p], .has_tree = !part.parents.empty()});
    }
    ops_.layout(plan, trees_, table_, batch_);
    const std::int64_t heads = shape_.value_heads, rows = batch_.rows;
    const std::int64_t width = shape_.has_state() ? heads * shape_.value_dim : shape_.channels;
    const Tensor out = ops_.temp(DType::kF32, {rows, width});
    RecurrentRows in{.inputs = filled(ops_.temp(DType::kF32, {rows, shape_.channels}), 10 + steps_),
                     .dt = {},
                     .beta = {}};
    if (shape_.has_state()) {
      in.dt = filled(ops_.temp(DType::kF32, {rows, heads}), 40 + steps_, 4);
      in.beta = filled(ops_.temp(DType::kF32, {rows, heads}), 70 + steps_);
    }
    ++steps_;
    ops_.recur(in, weights_, batch_, layers_[0], out);
    return read_all_rows(ops_, out);
  }

  // What was walked of each part, in their order.
  void keep(const std::vector<Part>& parts, const std::vector<std::vector<std::int32_t>>& paths) {
    Walk walk;
    for (std::size_t p = 0; p < parts.size(); ++p)
      walk.seqs.push_back(
          {.slot = parts[p].slot, .path = paths[p], .emitted = {}, .foreseen = {}, .scored = {}});
    ops_.kv_keep(walk, batch_, layers_);
    for (std::size_t p = 0; p < parts.size(); ++p)
      commit(table_, parts[p].slot, at(parts[p].chain), paths[p].size());
  }

  std::int64_t rows() const { return batch_.rows; }

  void copy(const std::vector<StateCopy>& copies) { ops_.copy_states(copies, layers_); }

 private:
  Tensor filled(const Tensor& to, int kind, float most = 1) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < to.elements(); ++i)
      values.push_back(kind == 4 ? -std::abs(most * value_of(kind, 9, i))
                                 : most * value_of(kind, 9, i));
    ops_.upload(Tensor(values.data(), DType::kF32, to.shape()), to);
    return to;
  }
  Tensor kept(const Shape& shape, int kind, float most) {
    return filled(ops_.alloc(DType::kF32, shape), kind, most);
  }
  Ops& ops_;
  RecurrentShape shape_;
  DraftTrees trees_{2, 64};
  SeqTable table_{2};
  std::vector<KvLayer> layers_;
  RecurrentWeights weights_;
  Batch batch_;
  int steps_ = 0;
};

class VulkanStatesTest : public GpuFixture, public testing::WithParamInterface<RecurrentKind> {
 protected:
  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    expected_ = std::make_unique<Layer>(*cpu_, GetParam().shape);
    found_ = std::make_unique<Layer>(*gpu_, GetParam().shape);
  }
  void step(const std::vector<Part>& parts, const std::vector<std::vector<std::int32_t>>& paths) {
    const Rows expected = expected_->step(parts);
    expect_same_bytes(found_->step(parts), expected, "step " + std::to_string(number_++));
    expected_->keep(parts, paths);
    found_->keep(parts, paths);
  }
  std::unique_ptr<Layer> expected_, found_;
  int number_ = 0;
};

std::vector<std::int32_t> line(int nodes) {
  std::vector<std::int32_t> parents(at(nodes));
  std::iota(parents.begin(), parents.end(), -1);
  return parents;
}

TEST_P(VulkanStatesTest, chains_have_the_bits_of_the_cpu) {
  for (const int chain : {5, 1, 26, 1, 40, 70, 3})
    step({{.slot = 0, .chain = chain}, {.slot = 1, .chain = 2 * chain % 37 + 1}}, {{}, {}});
}

// Trees inside a block, over its end, and over two; accepted in part.
TEST_P(VulkanStatesTest, trees_have_the_bits_of_the_cpu) {
  const std::vector<std::int32_t> bushy{-1, 0, 0, 1, 1, 2, 4, 6, 2, 7};
  step({{.slot = 0, .chain = 20, .parents = bushy}, {.slot = 1, .parents = {-1}}},
       {{0, 2, 5}, {0}});
  step({{.slot = 0, .chain = 3, .parents = bushy}, {.slot = 1, .chain = 31, .parents = line(3)}},
       {{0, 1, 4, 6, 7}, {0, 1}});
  step({{.slot = 1, .parents = line(64)}, {.slot = 0, .parents = {-1, 0, 0, 1, 2, 3, 4}}},
       {std::vector<std::int32_t>{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                                  24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35},
        {0, 2, 4, 6}});
  step({{.slot = 0, .chain = 1, .parents = line(40)}, {.slot = 1, .parents = bushy}}, {{0}, {0}});
  step({{.slot = 0, .parents = {-1}}, {.slot = 1, .chain = 2}}, {{0}, {}});
}

TEST_P(VulkanStatesTest, states_are_copied) {
  step({{.slot = 0, .chain = 64}, {.slot = 1, .chain = 32}}, {{}, {}});
  for (Layer* layer : {expected_.get(), found_.get()}) {
    layer->copy({{.from = 0, .to = 4}, {.from = 3, .to = 5}});
    layer->copy({{.from = 4, .to = 3}, {.from = 5, .to = 0}});
  }
  step({{.slot = 0, .chain = 3}, {.slot = 1, .chain = 4}}, {{}, {}});
}

INSTANTIATE_TEST_SUITE_P(Kinds, VulkanStatesTest, testing::ValuesIn(kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

// Nodes that end a block, each with a child: what their states take is planned for.
class VulkanStateMemory : public GpuFixture {};

TEST_F(VulkanStateMemory, states_of_nodes_are_in_the_plan) {
  RecurrentKind kind = recurrent_kinds().front();
  RecurrentShape& shape = kind.shape;
  shape.key_dim = shape.value_dim = 128;
  shape.channels = (2 * shape.key_heads + shape.value_heads) * 128;
  shape.first = {.query = 0, .key = shape.key_heads * 128, .value = 2 * shape.key_heads * 128};
  std::vector<std::int32_t> star(63, 0);
  star[0] = -1;
  for (std::int32_t n = 32; n < 63; ++n) star[at(n)] = n - 31;
  const auto ops = make_backend({.device = test_device(), .gemm_order = "tile"}, *pool_);
  Layer layer(*ops, shape);
  layer.step(
      {{.slot = 0, .chain = 30, .parents = star}, {.slot = 1, .chain = 30, .parents = star}});
  const std::int64_t rows = layer.rows(), values = shape.value_heads * shape.value_dim;
  EXPECT_EQ(rows, 2 * (30 + 63));
  ForwardSize size;
  size.rows = rows;
  size.recurrent = shape;
  const std::size_t given =
      at(rows * (shape.channels + values + 2 * shape.value_heads)) * sizeof(float);
  const std::size_t took = ops->most_step_bytes();
  size.branch_nodes = 62;
  EXPECT_LE(took, given + ops->workspace_bytes(size));
  size.branch_nodes = 0;
  EXPECT_GT(took, given + ops->workspace_bytes(size)) << "the test sees what is not planned";
}

class VulkanGates : public GpuFixture {};

TEST_F(VulkanGates, have_the_bits_of_the_cpu) {
  for (const GateCurve curve : {GateCurve::kSigmoid, GateCurve::kSilu, GateCurve::kNone}) {
    const auto result = [&](Ops& ops) {
      Batch batch;
      ops.layout({}, DraftTrees(1, 1), SeqTable(1), batch);
      const std::int64_t rows = 5, width = 133;
      std::vector<float> values;
      for (std::int64_t i = 0; i < 2 * rows * width; ++i)
        values.push_back((i % 11 == 0 ? 60.0F : 4.0F) * value_of(1, 2, i));
      const Tensor x = ops.temp(DType::kF32, {rows, width});
      const Tensor gate = ops.temp(DType::kF32, {rows, width});
      ops.upload(Tensor(values.data(), DType::kF32, x.shape()), x);
      ops.upload(Tensor(values.data() + rows * width, DType::kF32, x.shape()), gate);
      ops.gate(x, gate, curve);
      std::vector<float> found;
      ops.read_rows(x, std::vector<std::int32_t>{0, 1, 2, 3, 4}, found);
      ops.read_back();
      return Rows{found};
    };
    expect_same_bytes(result(*gpu_), result(*cpu_), std::to_string(static_cast<int>(curve)));
  }
}

}  // namespace
}  // namespace foretoken::vulkan_states_test
