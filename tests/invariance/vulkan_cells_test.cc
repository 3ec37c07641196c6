// The invariance matrix on a device of Vulkan: tokens and logprobs are those of the CPU's plain
// code in tile order, whatever is in flight, in the batch, in trees, in chunks, cached or
// preempted. The device is llvmpipe (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE; skipped by name
// where there is none. A sample of cells; FORETOKEN_LONG_TESTS=1 runs the whole sweep.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/gpu_test_kit.h"
#include "base/log.h"
#include "draft/catalogue/algorithms.h"
#include "invariance/grammar_requests.h"
#include "invariance/laboratory.h"
#include "invariance/matrix.h"
#include "invariance/request_mix.h"
#include "invariance/tiny_models.h"
#include "invariance/wrong_ops.h"
#include "model/decoder/decoder.h"

namespace foretoken::vulkan_cells_test {
namespace {

// Each value of each axis in some cell; rings of one and two in turns.
std::vector<Cell> sample(const std::string& device) {
  const Cell whole{.isa = device,
                   .threads = 2,
                   .company = Company::kTogether,
                   .chunk = -1,
                   .cache = false,
                   .preempt_every = 0,
                   .pressure = false,
                   .ring = 1,
                   .is_delayed = false,
                   .trees = {}};
  Cell tree = whole;
  tree.company = Company::kReversed;
  tree.chunk = 64;
  tree.cache = true;
  tree.ring = 2;
  tree.trees = {.nodes = 8, .depth = 3, .topk = 4, .truth = 0.6};
  Cell crowded = whole;
  crowded.chunk = 7;
  crowded.pressure = true;
  crowded.preempt_every = 3;
  crowded.trees = {.nodes = 5, .depth = 4, .topk = 1, .truth = 1.0};
  Cell drafted = whole;
  drafted.chunk = 16;
  drafted.ring = 2;
  drafted.trees = {.nodes = 16, .depth = 5, .topk = 4, .proposer = Proposer::kEagle3};
  Cell wide = whole;
  wide.trees = {.nodes = 64, .depth = 6, .topk = 8, .truth = 0.5};
  Cell texts = tree;
  texts.trees = {.nodes = 9,
                 .depth = 8,
                 .topk = 1,
                 .proposer = Proposer::kAlgorithm,
                 .algorithm = find_algorithm("NGRAM")};
  return {whole, tree, crowded, drafted, wide, texts};
}

// The sweep of the CPU's matrix. Nobody answers later than the device does itself.
std::vector<Cell> sweep(const std::string& device) {
  const Matrix matrix({device});
  std::vector<Cell> cells;
  for (const std::uint64_t number : matrix.sweep()) {
    cells.push_back(matrix.cell(number));
    cells.back().is_delayed = false;
  }
  return cells;
}

Laboratory::Loader loader_of(const TinyModel& model) {
  return [model](Ops& ops) {
    return std::make_unique<Decoder>(ops, model.config, *tiny_weights(model), model.dtype);
  };
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = why_no_test_device();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
  }
};
class VulkanCells : public OnDevice, public testing::WithParamInterface<TinyModel> {};

TEST_P(VulkanCells, tokens_and_logprobs_are_those_of_the_cpu) {
  const TinyModel& model = GetParam();
  Laboratory laboratory("tile", loader_of(model));
  auto requests = request_mix(model.config.vocab);
  requests.resize(6);
  auto bound = grammar_requests(1);
  for (std::size_t i = 0; i < 2; ++i) requests.push_back(std::move(bound[i]));
  const auto base = laboratory.run(Laboratory::base_cell(), requests);
  const auto truth = texts_of(requests, base);
  for (const Cell& cell : runs_long_tests() ? sweep(test_device()) : sample(test_device()))
    ASSERT_EQ(first_difference(laboratory.run(cell, requests, truth), base), "") << cell.str();
  const auto& occurred = laboratory.occurrences();
  EXPECT_GT(occurred.cached_tokens, 0U);
  EXPECT_GT(occurred.retractions, 0U);
  EXPECT_GT(occurred.accepted, 0U);
  EXPECT_GT(occurred.proposed, occurred.accepted);
}

// Those that the backend serves, one whose keys and values are codes of 8 bits, and one of heads that
// are wider than theirs.
std::vector<TinyModel> models() {
  std::vector<TinyModel> held = tiny_models();
  TinyModel coded = held.front();
  coded.name += "_int8_kv";
  coded.config.kv_dtype = DType::kI8;
  held.push_back(coded);
  TinyModel wide = held.front();
  wide.name += "_wide_heads";
  wide.config.heads = 2;
  wide.config.kv_heads = 1;
  wide.config.head_dim = 512;
  held.push_back(wide);
  for (const TinyModel& model : block_models()) held.push_back(model);
  return held;
}

INSTANTIATE_TEST_SUITE_P(Tiny, VulkanCells, testing::ValuesIn(models()),
                         [](const auto& param) { return param.param.name; });

// By matrix units a text is one of their own; it is the same whatever is in flight.
class VulkanUnitCells : public OnDevice {};

TEST_F(VulkanUnitCells, tokens_and_logprobs_are_those_of_plain_decoding) {
  TinyModel model = tiny_models().front();
  model.dtype = DType::kF16;
  Laboratory laboratory("mma", loader_of(model)), tile("tile", loader_of(model));
  auto requests = request_mix(model.config.vocab);
  requests.resize(6);
  Cell plain = Laboratory::base_cell();
  plain.isa = test_device();
  const auto base = laboratory.run(plain, requests);
  if (first_difference(tile.run(plain, requests), base).empty())
    GTEST_SKIP() << "the device has no matrix units: these are the bits of tile order";
  const auto truth = texts_of(requests, base);
  for (const Cell& cell : sample(test_device()))
    ASSERT_EQ(first_difference(laboratory.run(cell, requests, truth), base), "") << cell.str();
  EXPECT_GT(laboratory.occurrences().accepted, 0U);
  EXPECT_GT(laboratory.occurrences().retractions, 0U);
}

// The cells must be able to fail.
class VulkanControl : public OnDevice {};

TEST_F(VulkanControl, kv_that_is_not_kept_after_a_walk_is_seen) {
  const TinyModel model = tiny_models().front();
  auto requests = request_mix(model.config.vocab);
  requests.resize(3);
  Laboratory right("tile", loader_of(model)), wrong("tile", loader_of(model), keep_nothing);
  const auto base = right.run(Laboratory::base_cell(), requests);
  const auto truth = texts_of(requests, base);
  Cell cell = sample(test_device())[1];
  cell.company = Company::kTogether;
  EXPECT_EQ(first_difference(right.run(cell, requests, truth), base), "");
  EXPECT_NE(first_difference(wrong.run(cell, requests, truth), base), "");
}

}  // namespace
}  // namespace foretoken::vulkan_cells_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  foretoken::set_log_level(foretoken::LogLevel::kError);
  return RUN_ALL_TESTS();
}
