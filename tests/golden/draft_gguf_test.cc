// Draft models out of GGUF files: heads behind the target's layers in its own file, and models that
// read the target's keys and values in a file of their own. Their logits are those of the
// checkpoints that the files were made of.
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "backend/float_view.h"
#include "base/index.h"
#include "base/json_text.h"
#include "base/testing/test_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/test_files.h"
#include "draft_case.h"
#include "model/config/model_config.h"
#include "model/testing/gguf_converter.h"
#include "model/testing/gguf_mixed_converter.h"
#include "model/testing/gguf_state_converter.h"
#include "proposing.h"

namespace foretoken::draft_gguf_test {
namespace {

DraftCase case_named(const std::string& name) {
  for (DraftCase& draft : read_draft_cases())
    if (draft.name == name) return std::move(draft);
  ADD_FAILURE() << "no case " << name;
  return {};
}

void expect_golden_logits(const DraftCase& draft) {
  for (const char* device : {"reference", "cpu"}) {
    const Proposal found = Proposing(draft, device, DType::kF32).run(1 << 20);
    ASSERT_EQ(found.logits.size(), std::size_t{1 + kGoldenTopk}) << device;
    EXPECT_LT(largest_error(found.logits[0], draft.first[0]), 1e-4) << device;
    for (std::size_t i = 0; i < kGoldenTopk; ++i)
      EXPECT_LT(largest_error(found.logits[i + 1], draft.second[i]), 1e-4) << device << i;
  }
}

struct Own {
  const char* name;
  GgufFamily family;
};
void PrintTo(const Own& own, std::ostream* out) { *out << own.name; }

class HeadsInGguf : public testing::TestWithParam<Own> {};

TEST_P(HeadsInGguf, behind_the_layers_draft_as_from_the_checkpoint) {
  const TestFolder folder;
  folder.write("model.gguf", gguf_of(GetParam().family));
  DraftCase draft = case_named(GetParam().name);
  draft.target = folder.path() + "/model.gguf";
  expect_golden_logits(draft);
}

INSTANTIATE_TEST_SUITE_P(Heads, HeadsInGguf,
                         testing::Values(Own{"nextn",
                                             {.folder = "../drafts/targets/nextn",
                                              .architecture = "llama",
                                              .pairs = true,
                                              .has_heads = true}},
                                         Own{"nextn_chain",
                                             {.folder = "../drafts/targets/nextn_chain",
                                              .architecture = "llama",
                                              .pairs = true,
                                              .has_heads = true}},
                                         Own{"nextn_latent",
                                             {.folder = "../drafts/targets/nextn_latent",
                                              .architecture = "deepseek2",
                                              .splits_heads = true,
                                              .has_heads = true}}),
                         [](const auto& info) { return std::string(info.param.name); });

class AssistantsInGguf : public testing::TestWithParam<const char*> {};

TEST_P(AssistantsInGguf, draft_as_from_the_checkpoint) {
  const TestFolder folder;
  DraftCase draft = case_named(GetParam());
  folder.write("target.gguf", mixed_gguf_of(draft.target));
  folder.write("head.gguf", mixed_gguf_of(draft.head));
  draft.head = folder.path() + "/head.gguf";
  expect_golden_logits(draft);
  draft.target = folder.path() + "/target.gguf";
  expect_golden_logits(draft);
}

INSTANTIATE_TEST_SUITE_P(Heads, AssistantsInGguf, testing::Values("queries", "queries_ordered"),
                         [](const auto& info) { return std::string(info.param); });

// A checkpoint with a draft head of made-up weights, in names and sizes as its last layer that looks
// back is.
std::string with_head(const std::string& golden) {
  const auto source = open_checkpoint(golden, "auto", false);
  const ModelConfig config =
      ModelConfig::parse(boost::json::serialize(*read_json_file(golden + "/config.json")), golden);
  std::vector<TestTensor> tensors;
  const auto copy = [&](const std::string& stored, const std::string& name) {
    const Tensor tensor = source->find(stored, {}).value();
    TestTensor made{.name = name, .dtype = "F32", .shape = {}, .bytes = {}};
    for (int i = 0; i < tensor.shape().rank(); ++i) made.shape.push_back(tensor.dim(i));
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      // Heads are not their targets' layers.
      const bool is_head = stored != name;
      const float value =
          load_float(tensor.data(), tensor.dtype(),
                     is_head && tensor.shape().rank() > 1 ? tensor.elements() - 1 - i : i);
      made.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    tensors.push_back(std::move(made));
  };
  const auto make = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    TestTensor made{.name = name, .dtype = "F32", .shape = std::move(shape), .bytes = {}};
    std::uint32_t state = static_cast<std::uint32_t>(name.size());
    for (std::int64_t i = 0; i < count; ++i) {
      state = state * 1664525U + 1013904223U;
      const float value = static_cast<float>(state >> 16) / 262144.0F - 0.125F;
      made.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    tensors.push_back(std::move(made));
  };
  int last = config.layers - 1;
  while (config.recurrent.layers[at(last)]) --last;
  const std::string layer = "model.layers." + std::to_string(last) + ".";
  for (const std::string& name : source->names()) {
    copy(name, name);
    if (name.starts_with(layer)) copy(name, "mtp.layers.0." + name.substr(layer.size()));
  }
  const std::int64_t hidden = config.hidden;
  make("mtp.fc.weight", {hidden, 2 * hidden});
  for (const char* norm :
       {"mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight", "mtp.norm.weight"})
    make(norm, {hidden});
  return safetensors_bytes(tensors);
}

void expect_proposal(const DraftCase& draft, const Proposal& known) {
  const Proposal found = Proposing(draft, "cpu", DType::kF32).run(1 << 20);
  EXPECT_EQ(found.tokens, known.tokens);
  ASSERT_EQ(found.logits.size(), known.logits.size());
  for (std::size_t i = 0; i < known.logits.size(); ++i)
    EXPECT_LT(largest_error(found.logits[i], known.logits[i]), 1e-4) << i;
}

class HeadsOfStatesInGguf : public testing::TestWithParam<GgufStateFamily> {};

TEST_P(HeadsOfStatesInGguf, draft_as_from_the_checkpoint) {
  const std::string golden =
      std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + GetParam().folder;
  const TestFolder folder;
  folder.write("config.json", boost::json::serialize(*read_json_file(golden + "/config.json")));
  folder.write("model.safetensors", with_head(golden));
  const TestFolder converted;
  converted.write("model.gguf", state_gguf_of(GetParam(), folder.path()));
  DraftCase draft = case_named("nextn");
  draft.target = folder.path();
  const Proposal known = Proposing(draft, "cpu", DType::kF32).run(1 << 20);
  draft.target = converted.path() + "/model.gguf";
  expect_proposal(draft, known);
  // The head alone, with the target in the other format.
  GgufStateFamily alone = GetParam();
  alone.only_head = true;
  converted.write("mtp-model.gguf", state_gguf_of(alone, folder.path()));
  draft.target = folder.path();
  draft.head = converted.path() + "/mtp-model.gguf";
  expect_proposal(draft, known);
}

INSTANTIATE_TEST_SUITE_P(
    Families, HeadsOfStatesInGguf,
    testing::Values(GgufStateFamily{.folder = "qwen3_next", .architecture = "qwen3next"},
                    GgufStateFamily{.folder = "qwen3_5", .architecture = "qwen35"},
                    GgufStateFamily{.folder = "qwen3_5_moe", .architecture = "qwen35moe"}),
    [](const auto& info) { return std::string(info.param.folder); });

}  // namespace
}  // namespace foretoken::draft_gguf_test
