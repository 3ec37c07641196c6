// The invariance matrix: for each model and numeric order, tokens and logprobs are the same to the
// bit in every cell. By default a sweep over all axes and some random cells; with --all every cell,
// with --cell=N one, with --random=N so many random ones, --seed=S others.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/log.h"
#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/make_drafter.h"
#include "draft/catalogue/plan_drafts.h"
#include "engine/testing/answers.h"
#include "invariance/block_weights.h"
#include "invariance/float8_weights.h"
#include "invariance/grammar_requests.h"
#include "invariance/laboratory.h"
#include "invariance/matrix.h"
#include "invariance/ordered_weights.h"
#include "invariance/request_mix.h"
#include "invariance/tiny_models.h"
#include "invariance/wrong_ops.h"
#include "kv/kv_dtype.h"
#include "model/decoder/load.h"

namespace foretoken {
namespace {

struct Selection {
  bool all = false;
  long cell = -1;
  int random = 8;
  std::uint64_t seed = 1;
};
Selection selection;  // set by main before any test runs

// Large models get the usual cell under each ISA and with each model that drafts, and two random
// cells, with fewer requests; a real one with fewer still.
enum class Amount { kSweep, kFew, kFewest };

std::vector<std::uint64_t> selected_cells(const Matrix& matrix, Amount amount) {
  if (selection.cell >= 0) return {static_cast<std::uint64_t>(selection.cell)};
  std::set<std::uint64_t> cells;
  if (selection.all) {
    for (std::uint64_t i = 0; i < matrix.num_cells(); ++i) cells.insert(i);
  } else {
    const auto sweep = amount == Amount::kSweep ? matrix.sweep() : matrix.isa_sweep();
    cells.insert(sweep.begin(), sweep.end());
    const auto models = matrix.model_sweep();
    if (amount != Amount::kSweep) cells.insert(models.begin(), models.end());
    std::mt19937_64 random(selection.seed);
    const int num_random = amount == Amount::kSweep ? selection.random : 2;
    for (int i = 0; i < num_random; ++i) cells.insert(random() % matrix.num_cells());
  }
  return {cells.begin(), cells.end()};
}

void expect_invariance(Laboratory& laboratory, Amount amount) {
  const Matrix matrix(cpu_isas());
  auto requests = request_mix(static_cast<std::int64_t>(laboratory.vocab()));
  for (Request& request : grammar_requests(selection.seed)) requests.push_back(std::move(request));
  if (amount != Amount::kSweep && !selection.all)
    requests.erase(requests.begin() + (amount == Amount::kFew ? 5 : 3), requests.end());
  const auto base = laboratory.run(Laboratory::base_cell(), requests);
  const auto truth = texts_of(requests, base);
  for (const std::uint64_t number : selected_cells(matrix, amount)) {
    const Cell cell = matrix.cell(number);
    ASSERT_EQ(first_difference(laboratory.run(cell, requests, truth), base), "")
        << "cell " << number << ": " << cell.str();
  }
  if (selection.cell >= 0) return;
  const auto& occurred = laboratory.occurrences();
  EXPECT_GT(occurred.cached_tokens, 0U);
  EXPECT_TRUE(amount != Amount::kSweep || occurred.retractions > 0);
  EXPECT_GT(occurred.accepted, 0U);
  EXPECT_GT(occurred.proposed, occurred.accepted);
}

Laboratory::Loader loader_of(const TinyModel& model) {
  return [model](Ops& ops) {
    return std::make_unique<Decoder>(ops, model.config, *tiny_weights(model), model.dtype);
  };
}

class Invariance : public testing::TestWithParam<std::tuple<TinyModel, std::string>> {};

TEST_P(Invariance, tokens_and_logprobs_are_the_same_in_every_cell) {
  const auto& [model, order] = GetParam();
  Laboratory laboratory(order, loader_of(model));
  expect_invariance(laboratory, Amount::kSweep);
}

INSTANTIATE_TEST_SUITE_P(Tiny, Invariance,
                         testing::Combine(testing::ValuesIn(tiny_models()),
                                          testing::Values("tile", "pair")),
                         [](const auto& param) {
                           return std::get<0>(param.param).name + "_" + std::get<1>(param.param);
                         });

// Other blocks, in few cells: what they compute differs, not who computes it.
class BlockInvariance : public Invariance {};

TEST_P(BlockInvariance, tokens_and_logprobs_are_the_same_in_every_cell) {
  const auto& [model, order] = GetParam();
  Laboratory laboratory(order, loader_of(model));
  expect_invariance(laboratory, Amount::kFew);
}

// Each model in both orders, or, in a sample, in one of them by turns.
std::vector<std::tuple<TinyModel, std::string>> block_models_in_orders() {
  std::vector<std::tuple<TinyModel, std::string>> all;
  bool is_turn_of_tile = true;
  for (const TinyModel& model : block_models()) {
    if (is_turn_of_tile || runs_long_tests()) all.emplace_back(model, "tile");
    if (!is_turn_of_tile || runs_long_tests()) all.emplace_back(model, "pair");
    is_turn_of_tile = !is_turn_of_tile;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Tiny, BlockInvariance, testing::ValuesIn(block_models_in_orders()),
                         [](const auto& param) {
                           return std::get<0>(param.param).name + "_" + std::get<1>(param.param);
                         });

// A text that goes on from a kept state, in all cells of the sweep.
TEST(StateInvariance, tokens_and_logprobs_are_the_same_in_every_cell) {
  const auto models = block_models();
  const auto model = std::ranges::find(models, "states_near_ties", &TinyModel::name);
  ASSERT_NE(model, models.end());
  Laboratory laboratory("tile", loader_of(*model));
  expect_invariance(laboratory, Amount::kSweep);
}

// Weights of fewer bits, drafted for by heads of as many and of bf16, in turns.
struct FewerBits {
  std::string quantization, order, model;
  std::string head = {};  // kind of the output matrix, where not the usual one
};
class QuantizedInvariance : public testing::TestWithParam<FewerBits> {};

TEST_P(QuantizedInvariance, tokens_and_logprobs_are_the_same_in_every_cell) {
  const auto models = tiny_models();
  const auto model = std::ranges::find(models, GetParam().model, &TinyModel::name);
  ASSERT_NE(model, models.end()) << GetParam().model;
  const Quantization quantization = with_head(
      quantization_named(GetParam().quantization, false, "test"), GetParam().head, false, "test");
  const auto load = [&](Ops& ops) {
    return std::make_unique<Decoder>(ops, model->config, *tiny_weights(*model), model->dtype,
                                     quantization);
  };
  const auto load_head = [&](Ops& ops, const Decoder& target, Proposer proposer) {
    const bool in_turn = static_cast<int>(proposer) % 2 == 0;
    return made_up_head(ops, target, proposer, in_turn ? quantization : Quantization{}, {});
  };
  Laboratory laboratory(GetParam().order, load, {}, load_head);
  expect_invariance(laboratory, Amount::kFew);
}

INSTANTIATE_TEST_SUITE_P(Tiny, QuantizedInvariance,
                         testing::Values(FewerBits{"w8a8_int8", "tile", "llama_gqa_near_ties"},
                                         FewerBits{"w8a16", "pair", "qk_norm_mqa_tied_flat"},
                                         FewerBits{"fp8", "tile", "qk_norm_mqa_tied_flat"},
                                         FewerBits{"int4", "tile", "fp16"},
                                         FewerBits{"int4-g64", "tile", "llama_gqa_near_ties",
                                                   "w4a8"},
                                         FewerBits{"w4a8-g64", "pair", "qkv_bias_window_steep"}),
                         [](const auto& param) {
                           std::string name = param.param.quantization;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TinyModel model_named(const std::string& name) {
  for (const auto& models : {tiny_models(), block_models()})
    for (const TinyModel& model : models)
      if (model.name == name) return model;
  throw std::invalid_argument("no tiny model " + name);
}

// Checkpoints whose codes are kept: of 8-bit floats, of 4 bits with columns in another order, of
// both widths in one model, and blocks of GGUF files.
struct Stored {
  std::string kind, order, model;
  std::unique_ptr<WeightSource> (*weights)(const TinyModel& model);
  StoredQuantization (*quantization)();  // null: config.json says nothing
  std::string asked = {};                // what becomes of the codes; empty: they stay
  int width = 0;                         // of the model; 0: as it is
};
class StoredInvariance : public testing::TestWithParam<Stored> {};

TEST_P(StoredInvariance, tokens_and_logprobs_are_the_same_in_every_cell) {
  TinyModel model = model_named(GetParam().model);
  if (GetParam().quantization != nullptr)
    model.config.stored_quantization = GetParam().quantization();
  if (GetParam().width > 0) model.config.hidden = model.config.intermediate = GetParam().width;
  TinyModel plain = model;
  plain.config.stored_quantization.reset();
  const auto load = [&](Ops& ops) {
    auto made =
        std::make_unique<Decoder>(ops, model.config, *GetParam().weights(model), model.dtype,
                                  quantization_named(GetParam().asked, false, "test"));
    const Decoder floats(ops, plain.config, *tiny_weights(plain), model.dtype);
    EXPECT_LT(made->weight_bytes(), floats.weight_bytes());
    return made;
  };
  Laboratory laboratory(GetParam().order, load);
  expect_invariance(laboratory, Amount::kFew);
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, StoredInvariance,
    testing::Values(
        Stored{"fp8", "tile", "llama_gqa_near_ties", float8_weights, float8_blocks},
        Stored{"fp8", "pair", "qkv_bias_window_steep", float8_weights, float8_blocks},
        Stored{"gptq", "tile", "qk_norm_mqa_tied_flat", ordered_weights, groups_in_no_order},
        Stored{"gptq", "pair", "llama_gqa_near_ties", ordered_weights, groups_in_no_order},
        Stored{"gptq_mixed", "tile", "llama_gqa_near_ties", ordered_weights, groups_of_both_widths},
        Stored{"gptq_rounding", "pair", "qkv_bias_window_steep", ordered_weights,
               groups_in_no_order, "w4a8"},
        Stored{"gguf", "tile", "llama_gqa_near_ties", block_weights, nullptr},
        Stored{"gguf_large", "pair", "llama_gqa_near_ties", block_weights, nullptr, "", 256},
        Stored{"gguf_kept", "pair", "qkv_bias_window_steep", block_weights, nullptr, "gguf-a16"},
        Stored{"gguf_large_kept", "tile", "llama_gqa_near_ties", block_weights, nullptr, "gguf-a16",
               256},
        Stored{"fp8_latent", "tile", "latent_near_ties", float8_weights, float8_blocks}),
    [](const auto& param) { return param.param.kind + "_" + param.param.order; });

// Keys and values as codes of 8 bits, under weights of bf16 and of fewer bits, and as bf16 under
// others; the drafter's are the target's or, in turns, those of its weights.
struct KvBits {
  DType kv_dtype;
  std::string quantization, order, model;
};
class KvInvariance : public testing::TestWithParam<KvBits> {};

TEST_P(KvInvariance, tokens_and_logprobs_are_the_same_in_every_cell) {
  TinyModel model = model_named(GetParam().model);
  model.config.kv_dtype = GetParam().kv_dtype;
  const Quantization quantization = quantization_named(GetParam().quantization, false, "test");
  const auto load = [&](Ops& ops) {
    return std::make_unique<Decoder>(ops, model.config, *tiny_weights(model), model.dtype,
                                     quantization);
  };
  const auto load_head = [&](Ops& ops, const Decoder& target, Proposer proposer) {
    const bool in_turn = static_cast<int>(proposer) % 2 == 0;
    return made_up_head(ops, target, proposer, quantization,
                        in_turn ? std::optional(GetParam().kv_dtype) : std::nullopt);
  };
  Laboratory laboratory(GetParam().order, load, {}, load_head);
  expect_invariance(laboratory, Amount::kFew);
}

INSTANTIATE_TEST_SUITE_P(
    Tiny, KvInvariance,
    testing::Values(KvBits{DType::kI8, "unquant", "tile", "llama_gqa_near_ties"},
                    KvBits{DType::kF8E4M3, "unquant", "pair", "qkv_bias_window_steep"},
                    KvBits{DType::kF8E5M2, "unquant", "tile", "qk_norm_mqa_tied_flat"},
                    KvBits{DType::kI8, "w4a8", "pair", "qkv_bias_window_steep"},
                    KvBits{DType::kF8E4M3, "w8a8_int8", "tile", "llama_gqa_near_ties"},
                    KvBits{DType::kF8E5M2, "int4", "pair", "fp16"},
                    KvBits{DType::kBF16, "unquant", "tile", "fp32_near_ties"},
                    KvBits{DType::kI8, "int4", "tile", "latent_near_ties"},
                    KvBits{DType::kF8E4M3, "w4a8", "pair", "latent_odd_widths"}),
    [](const auto& param) {
      return std::string(kv_dtype_name(param.param.kv_dtype)) + "_" + param.param.quantization +
             (param.param.model.starts_with("latent") ? "_" + param.param.model : "");
    });

// Texts of more than one span of attention, on the model whose layers differ in their windows.
TEST(LongTexts, tokens_and_logprobs_are_the_same_across_the_ends_of_spans) {
  const auto models = tiny_models();
  const auto model = std::find_if(models.begin(), models.end(), [](const TinyModel& tiny) {
    return !tiny.config.layer_window.empty();
  });
  ASSERT_NE(model, models.end());
  Laboratory laboratory("pair", loader_of(*model));
  const Matrix matrix(cpu_isas());
  const auto requests = long_request_mix(model->config.vocab);
  const auto base = laboratory.run(Laboratory::base_cell(), requests);
  const auto truth = texts_of(requests, base);
  auto cells = matrix.isa_sweep();
  const auto chunks = matrix.chunk_sweep();
  cells.insert(cells.end(), chunks.begin(), chunks.end());
  for (const std::uint64_t number : cells) {
    const Cell cell = matrix.cell(number);
    EXPECT_EQ(first_difference(laboratory.run(cell, requests, truth), base), "") << cell.str();
  }
}

// The demo model's own draft models, where they are there.
std::unique_ptr<DraftModel> demo_head(Ops& ops, const Decoder& target, Proposer proposer) {
  const std::string models = FORETOKEN_SOURCE_DIR "/models/";
  DraftOptions options;
  options.target_folder = models + "demo";
  options.load.show_progress = false;
  if (proposer == Proposer::kEagle || proposer == Proposer::kFrSpec) {
    options.algorithm = "EAGLE";
    options.folder = models + "demo-eagle";
    if (proposer == Proposer::kFrSpec) options.token_map = models + "demo-frspec/freq.pt";
  } else if (proposer == Proposer::kEagle3) {
    options.algorithm = "EAGLE3";
    options.folder = models + "demo-eagle3";
  } else if (proposer == Proposer::kMimo) {
    options.algorithm = "EAGLE";
    options.folder = models + "demo-mimo";
  }
  const bool is_there = !options.folder.empty() && std::filesystem::exists(options.folder) &&
                        (options.token_map.empty() || std::filesystem::exists(options.token_map));
  return is_there
             ? load_draft_model(ops, target, set_up_drafts(options, target.config().architecture))
             : nullptr;
}

TEST(DemoInvariance, tokens_and_logprobs_are_the_same_in_every_cell) {
  const std::string folder = FORETOKEN_SOURCE_DIR "/models/demo";
  if (!std::filesystem::exists(folder + "/model.safetensors"))
    GTEST_SKIP() << "no demo model in " << folder;
  ModelOptions options;
  options.show_progress = false;
  Laboratory laboratory(
      "auto", [&](Ops& ops) { return load_model(ops, folder, options); }, {}, demo_head);
  expect_invariance(laboratory, Amount::kFewest);
}

// Who adds an algorithm that runs a model says in matrix.cc with which one it proposes.
TEST(Matrix, every_algorithm_proposes_in_some_cell) {
  for (const Algorithm* row : algorithms())
    EXPECT_TRUE(!row->can_draft() || is_in_matrix(*row)) << row->name;
}

// The bias makes the text repeat itself.
TEST(ToyDrafter, it_is_right_where_a_text_repeats_itself) {
  const TinyModel model = tiny_models().front();
  Laboratory laboratory("tile", loader_of(model));
  auto requests = request_mix(model.config.vocab);
  requests.resize(2);
  for (Request& request : requests) request.sampling.logit_bias = {{11, 100.0F}};
  const auto base = laboratory.run(Laboratory::base_cell(), requests);
  EXPECT_EQ(laboratory.occurrences().proposed, 0U);
  Cell cell = Laboratory::base_cell();
  cell.trees = {.nodes = 9,
                .depth = 8,
                .topk = 1,
                .proposer = Proposer::kAlgorithm,
                .algorithm = find_algorithm("REPEAT")};
  ASSERT_NE(cell.trees.algorithm, nullptr);
  EXPECT_EQ(first_difference(laboratory.run(cell, requests, texts_of(requests, base)), base), "");
  EXPECT_GT(laboratory.occurrences().accepted, 20U);
}

// The matrix must be able to fail.
class NegativeControl : public testing::Test {
 protected:
  // What a cell says against the base when the backend is wrapped.
  std::string run(const Laboratory::Wrapper& wrap, const Cell& cell,
                  const TinyModel& model = tiny_models().front()) {
    const auto requests = request_mix(model.config.vocab);
    Laboratory right("tile", loader_of(model)), wrong("tile", loader_of(model), wrap);
    const auto truth = texts_of(requests, right.run(Laboratory::base_cell(), requests));
    const auto base = wrong.run(Laboratory::base_cell(), requests);
    return first_difference(wrong.run(cell, requests, truth), base);
  }
};

TEST_F(NegativeControl, a_linear_that_splits_k_by_the_number_of_rows_is_seen) {
  Cell together = Laboratory::base_cell();
  together.company = Company::kTogether;
  EXPECT_EQ(run({}, together), "");
  EXPECT_NE(run(split_k_by_rows, together), "");
  Cell row_by_row = Laboratory::base_cell();
  row_by_row.chunk = 1;
  EXPECT_EQ(run({}, row_by_row), "");
  EXPECT_NE(run(split_k_by_rows, row_by_row), "");
}

TEST_F(NegativeControl, states_that_are_not_copied_are_seen) {
  const auto models = block_models();
  const auto model = std::ranges::find(models, "states_near_ties", &TinyModel::name);
  ASSERT_NE(model, models.end());
  Cell cached = Laboratory::base_cell();
  cached.cache = true;
  EXPECT_EQ(run({}, cached, *model), "");
  EXPECT_NE(run(copy_no_states, cached, *model), "");
}

TEST_F(NegativeControl, kv_that_is_not_kept_after_a_walk_is_seen) {
  Cell trees = Laboratory::base_cell();
  trees.trees = {.nodes = 8, .depth = 3, .topk = 4, .truth = 0.6};
  EXPECT_EQ(run({}, trees), "");
  EXPECT_NE(run(keep_nothing, trees), "");
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& selection = foretoken::selection;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = argument.find('=') == std::string::npos
                           ? std::string()
                           : argument.substr(argument.find('=') + 1);
    if (argument == "--all") {
      selection.all = true;
    } else if (argument.starts_with("--cell=")) {
      selection.cell = std::atol(value.c_str());
    } else if (argument.starts_with("--random=")) {
      selection.random = std::atoi(value.c_str());
    } else if (argument.starts_with("--seed=")) {
      selection.seed = static_cast<std::uint64_t>(std::atoll(value.c_str()));
    } else {
      std::cerr << "unknown argument " << argument
                << "; known: --all --cell=N --random=N --seed=S and GoogleTest's own\n";
      return 2;
    }
  }
  foretoken::set_log_level(foretoken::LogLevel::kError);
  return RUN_ALL_TESTS();
}
