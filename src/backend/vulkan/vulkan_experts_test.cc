// Mixtures of experts on a device of Vulkan against the CPU's tile order, byte for byte: routers,
// the experts that rows choose, gates of rows. The device is llvmpipe (tools/vulkan_run.sh) or
// FORETOKEN_TEST_DEVICE; skipped by name where there is none.

#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/coded_rows_test_kit.h"
#include "backend/testing/gpu_fixture_test_kit.h"
#include "backend/testing/ops_test_kit.h"
#include "base/error.h"

namespace foretoken::vulkan_experts_test {
namespace {

class VulkanExpertsTest : public GpuFixture {
 protected:
  // Numbers of experts are read as floats that have their bits.
  void check_router(const Routing& routing, const std::vector<float>& logits,
                    const std::vector<float>& bias, const std::vector<float>& scale) {
    const std::int64_t rows = std::ssize(logits) / routing.experts;
    expect_same(
        [&](Ops& ops) {
          begin_step(ops);
          const auto vector = [&](const std::vector<float>& of) {
            return of.empty() ? Tensor() : put_values(ops, of, {std::ssize(of)});
          };
          const Tensor in = put_values(ops, logits, {rows, routing.experts});
          const Tensor chosen = ops.temp(DType::kI32, {rows, routing.chosen});
          const Tensor weights = ops.temp(DType::kF32, {rows, routing.chosen});
          ops.route(in, routing, {.bias = vector(bias), .scale = vector(scale)}, chosen, weights);
          Rows all = read_all_rows(ops, Tensor(chosen.data(), DType::kF32, chosen.shape()));
          for (auto& row : read_all_rows(ops, weights)) all.push_back(std::move(row));
          return all;
        },
        std::to_string(routing.experts) + " experts");
  }
};

TEST_F(VulkanExpertsTest, routers_choose_and_weigh_as_the_cpu_does) {
  for (const RouterScore score :
       {RouterScore::kSoftmax, RouterScore::kSigmoid, RouterScore::kLogit})
    for (const auto& [experts, chosen] : {std::pair{2, 1}, {6, 2}, {17, 5}, {64, 8}, {257, 8}})
      for (const bool normalises : {false, true})
        for (const float far : {0.5F, 8.0F, 200.0F}) {
          const Routing routing{.experts = experts,
                                .chosen = chosen,
                                .score = score,
                                .normalises = normalises,
                                .scale = normalises ? 2.5F : 1.0F};
          const bool has_vectors = experts == 17;
          check_router(routing, some_values(experts, 5 * experts, far),
                       has_vectors ? some_values(1, experts) : std::vector<float>(),
                       has_vectors ? some_values(2, experts) : std::vector<float>());
        }
}

TEST_F(VulkanExpertsTest, routers_keep_to_the_best_groups) {
  for (const auto& [groups, kept, tops] : {std::tuple{4, 2, 2}, {8, 3, 1}, {4, 1, 3}, {64, 9, 1}})
    for (const bool has_bias : {false, true})
      check_router({.experts = 64,
                    .chosen = 6,
                    .score = RouterScore::kSigmoid,
                    .normalises = true,
                    .groups = groups,
                    .kept_groups = kept,
                    .group_tops = tops},
                   some_values(groups, 7 * 64, 3),
                   has_bias ? some_values(9, 64) : std::vector<float>(), {});
}

TEST_F(VulkanExpertsTest, equals_and_what_is_no_number_go_the_same_way) {
  const Routing routing{.experts = 4, .chosen = 2, .score = RouterScore::kSigmoid};
  check_router(routing, {0.2F, 0.3F, 0.3F, 0.3F, 1, 1, 1, 1, -0.0F, 0.0F, 5, -5}, {}, {});
  check_router({.experts = 4, .chosen = 2}, {3, 3, 3, 3, -90, 80, 80, -90}, {}, {});
  begin_step(*gpu_);
  const Tensor in = put_values(*gpu_, {NAN, 0.1F, 0.2F, -1}, {1, 4});
  const Tensor chosen = gpu_->temp(DType::kI32, {1, 2}), weights = gpu_->temp(DType::kF32, {1, 2});
  gpu_->route(in, routing, {}, chosen, weights);
  const Rows found = read_all_rows(*gpu_, Tensor(chosen.data(), DType::kF32, {1, 2}));
  EXPECT_EQ(std::bit_cast<std::int32_t>(found[0][0]), 1);
  EXPECT_EQ(std::bit_cast<std::int32_t>(found[0][1]), 2);
}

TEST_F(VulkanExpertsTest, more_experts_than_it_holds_are_refused_by_name) {
  begin_step(*gpu_);
  const Tensor in = put_values(*gpu_, some_values(1, 1025), {1, 1025});
  const Tensor chosen = gpu_->temp(DType::kI32, {1, 2}), weights = gpu_->temp(DType::kF32, {1, 2});
  try {
    gpu_->route(in, {.experts = 1025, .chosen = 2}, {}, chosen, weights);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("1025 experts"), std::string::npos) << error.what();
  }
}

TEST_F(VulkanExpertsTest, gates_of_rows) {
  for (const std::int64_t width : {1, 31, 130})
    expect_same(
        [&](Ops& ops) {
          begin_step(ops);
          const Tensor x = put_values(ops, some_values(1, 5 * width), {5, width});
          ops.gate_rows(x, put_values(ops, {0, 2, -3.3F, 90, -90}, {5, 1}));
          return read_all_rows(ops, x);
        },
        std::to_string(width));
}

// A layer of experts on one backend.
class Layer {
 public:
  static constexpr int kExperts = 6, kChosen = 3;

  struct Kind {
    std::string name;
    DType dtype = DType::kBF16;
    WeightFormat format = {};
    std::int64_t hidden = 96, inner = 64;
    bool has_bias = false;
  };

  Layer(Ops& ops, const Kind& kind) : ops_(ops) {
    const auto pack = [&](std::int64_t out, std::int64_t in, int parts, int seed) {
      std::vector<std::vector<float>> values;
      std::vector<Tensor> weights, biases;
      std::vector<std::unique_ptr<RandomBlocks>> blocks;
      std::vector<const CodedRows*> codes;
      std::unique_ptr<RandomRows> rows;
      for (int i = 0; i < parts; ++i) {
        if (kind.format.has_column_order) {  // which matrices below one another share
          rows = std::make_unique<RandomRows>(kind.format, parts * out, in, at(seed));
          codes.push_back(rows.get());
          break;
        }
        if (kind.format.is_blocked()) {
          codes.push_back(
              blocks.emplace_back(std::make_unique<RandomBlocks>(kind.format, out, in)).get());
          continue;
        }
        values.push_back(some_values(100 * i + seed, out * in, 0.2F));
        weights.emplace_back(values.back().data(), DType::kF32, Shape{out, in});
        if (kind.has_bias)
          biases.emplace_back(values.emplace_back(some_values(7 + seed, out)).data(), DType::kF32,
                              Shape{out});
      }
      return ops.pack({.weights = weights,
                       .biases = biases,
                       .dtype = kind.dtype,
                       .format = kind.format,
                       .codes = codes});
    };
    for (int e = 0; e < kExperts; ++e) {
      weights_.push_back(pack(kind.inner, kind.hidden, 2, 2 * e));
      weights_.push_back(pack(kind.hidden, kind.inner, 1, 2 * e + 1));
      experts_.push_back({weights_.end()[-2].get(), weights_.back().get()});
    }
  }

  // Rows `first` .. of made-up ones.
  Rows run(std::int64_t hidden, std::int64_t first, std::int64_t rows) {
    begin_step(ops_);
    const std::vector<float> all = some_values(3, 700 * hidden),
                             routes = some_values(4, 700 * kExperts, 3);
    const auto part = [&](const std::vector<float>& of, std::int64_t width) {
      return put_values(ops_, {of.begin() + first * width, of.begin() + (first + rows) * width},
                        {rows, width});
    };
    const Tensor x = part(all, hidden), logits = part(routes, kExperts);
    const Tensor chosen = ops_.temp(DType::kI32, {rows, kChosen});
    const Tensor weights = ops_.temp(DType::kF32, {rows, kChosen});
    const Tensor out = ops_.temp(DType::kF32, x.shape());
    ops_.route(logits, {.experts = kExperts, .chosen = kChosen}, {}, chosen, weights);
    ops_.mix_experts(experts_, Activation::kSilu, x, chosen, weights, out);
    return read_all_rows(ops_, out);
  }

 private:
  Ops& ops_;
  std::vector<std::unique_ptr<PackedLinear>> weights_;
  std::vector<ExpertLinears> experts_;
};

std::vector<Layer::Kind> kinds() {
  const DType bf16 = DType::kBF16;
  std::vector<Layer::Kind> all{
      {"bf16"},
      {"bf16_odd", bf16, {}, 40, 24, true},
      {"fp16", DType::kF16, {}, 41, 24, true},
      {"fp32", DType::kF32},
      {"int8", bf16, {.bits = 8}, 40, 24, true},
      {"w8a8", bf16, {.bits = 8, .rounds_input = true}},
      {"int4", bf16, {.bits = 4, .group = 32, .scale = bf16}},
      {"w4a8", bf16, {.bits = 4, .group = 32, .scale = bf16, .rounds_input = true}, 40, 24, true},
      {"fp8", bf16, {.bits = 8, .is_float = true}}};
  for (const bool rounds : {false, true})
    all.push_back({rounds ? "ordered_a8" : "ordered_a16",
                   bf16,
                   {.bits = 4,
                    .group = 32,
                    .scale = DType::kF16,
                    .has_zero_points = true,
                    .rounds_input = rounds,
                    .has_column_order = true}});
  for (const BlockKind& kind : block_kinds())
    if (const std::string name = kind.name; name == "Q4_K" || name == "Q6_K" || name == "MXFP4")
      for (const bool rounds : {false, true}) {
        Layer::Kind& made = all.emplace_back();
        made.name = name + (rounds ? "_a8" : "_a16");
        made.format = kind.format;
        made.format.rounds_input = rounds;
        made.hidden = made.inner = 256;
      }
  return all;
}

TEST_F(VulkanExpertsTest, mixtures_have_the_bits_of_the_cpu) {
  for (const Layer::Kind& kind : kinds()) {
    Layer expected(*cpu_, kind), found(*gpu_, kind);
    for (const std::int64_t rows : {1, 7, 40})  // 40: sorted by their experts

      expect_same_bytes(found.run(kind.hidden, 0, rows), expected.run(kind.hidden, 0, rows),
                        kind.name + ", " + std::to_string(rows) + " rows");
  }
}

// More rows than the scratch holds the parts of, and the same ones alone.
TEST_F(VulkanExpertsTest, a_row_among_others_is_the_row_alone) {
  const Layer::Kind kind{"bf16"};
  Layer expected(*cpu_, kind), found(*gpu_, kind);
  const Rows all = found.run(kind.hidden, 0, 600);
  expect_same_bytes(all, expected.run(kind.hidden, 0, 600), "600 rows");
  for (const std::int64_t row : {0, 255, 256, 599})
    expect_same_bytes(found.run(kind.hidden, row, 1), {all[at(row)]}, std::to_string(row));
}

// Before the first request, by those who load a model.
TEST_F(VulkanExpertsTest, what_is_not_held_is_refused_by_name) {
  const auto refused = [](const std::function<void()>& body) -> std::string {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto routing = [&](int experts, int groups) {
    return refused([&] {
      gpu_->expect_routing({.experts = experts, .chosen = 2, .groups = groups});
      cpu_->expect_routing({.experts = experts, .chosen = 2, .groups = groups});
    });
  };
  EXPECT_EQ(routing(1024, 64), "");
  EXPECT_NE(routing(1025, 1).find("1025 experts"), std::string::npos);
  EXPECT_NE(routing(1024, 65).find("65 groups"), std::string::npos);
  const std::vector<float> values = some_values(3, 64 * 32);
  const auto matrix = [&](Ops& ops, std::int64_t width, const WeightFormat& format) {
    const Tensor weights(const_cast<float*>(values.data()), DType::kF32, {width, 32});
    return ops.pack(
        {.weights = {&weights, 1}, .biases = {}, .dtype = DType::kBF16, .format = format});
  };
  const auto experts = [&](Ops& ops, const WeightFormat& gate_up, const WeightFormat& down) {
    const auto a = matrix(ops, 64, {}), b = matrix(ops, 32, {});
    const auto c = matrix(ops, 64, gate_up), d = matrix(ops, 32, down);
    const std::vector<ExpertLinears> all{{a.get(), b.get()}, {c.get(), d.get()}};
    return refused([&] { ops.expect_experts(all); });
  };
  EXPECT_EQ(experts(*gpu_, {}, {}), "");
  EXPECT_NE(experts(*gpu_, {.bits = 8}, {}).find("several formats"), std::string::npos);
  EXPECT_NE(experts(*gpu_, {}, {.bits = 8}).find("several formats"), std::string::npos);
  EXPECT_EQ(experts(*cpu_, {.bits = 8}, {}), "");
}

// Experts that come to lie where others lay.
TEST_F(VulkanExpertsTest, layers_that_follow_others_have_experts_of_their_own) {
  for (int i = 0; i < 4; ++i) {
    Layer::Kind kind{"bf16"};
    kind.hidden = 32 + 32 * i;
    Layer expected(*cpu_, kind), found(*gpu_, kind);
    expect_same_bytes(found.run(kind.hidden, 3, 2), expected.run(kind.hidden, 3, 2),
                      std::to_string(i));
  }
}

}  // namespace
}  // namespace foretoken::vulkan_experts_test
