// Logits of every architecture, and of every format of checkpoints that are quantized already, on a
// device of Vulkan: the bits of the CPU's tile order, from which golden_test.cc goes on to those of
// transformers. The device is llvmpipe (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE; skipped by
// name where there is none.

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/gpu_fixture_test_kit.h"
#include "base/log.h"
#include "batch/commit.h"
#include "checkpoint/checkpoint.h"
#include "golden_case.h"
#include "model/config/context_length.h"
#include "model/decoder/load.h"
#include "model/runner.h"

namespace foretoken::vulkan_golden_test {
namespace {

// All logits of a text in chunks, the last row as the root of a tree.
std::vector<float> logits_of(Ops& ops, const Decoder& decoder, std::span<const Token> text) {
  constexpr std::size_t kChunk = 37;
  const int pages = pages_for(static_cast<int>(text.size()));
  Runner runner(ops, decoder, pages);
  SeqTable table(1);
  for (int page = pages - 1; page >= 0; --page) table.pages[0].push_back(page);
  DraftTrees trees(1, 1);
  SamplingParams params;
  std::vector<float> all;
  for (std::size_t begin = 0; begin < text.size(); begin += kChunk) {
    const std::span rows = text.subspan(begin, std::min(kChunk, text.size() - begin));
    const bool is_last = begin + rows.size() == text.size();
    StepPlan plan;
    plan.entries.push_back({.slot = 0,
                            .chain = is_last ? rows.first(rows.size() - 1) : rows,
                            .has_tree = is_last,
                            .score_from = 0,
                            .after_chain = is_last ? rows.back() : text[begin + rows.size()],
                            .params = &params});
    trees.plant(0, rows.back());
    Batch batch;
    ops.layout(plan, trees, table, batch);
    const Tensor logits =
        runner.logits(runner.forward(batch, {.last_hidden = true, .layer_inputs = {}}), batch);
    std::vector<std::int32_t> every(static_cast<std::size_t>(logits.dim(0)));
    std::iota(every.begin(), every.end(), 0);
    std::vector<float> some;
    ops.read_rows(logits, every, some);
    ops.read_back();
    all.insert(all.end(), some.begin(), some.end());
    commit(table, 0, rows.size(), 0);
  }
  return all;
}

class VulkanGolden : public GpuFixture {
 protected:
  using Load = std::function<std::unique_ptr<Decoder>(Ops&)>;
  static void compare(const Load& load, std::span<const Token> text) {
    const std::vector<float> expected = logits_of(*cpu_, *load(*cpu_), text);
    const std::vector<float> found = logits_of(*gpu_, *load(*gpu_), text);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected[i]))
          << found[i] << " for " << expected[i] << ", number " << i;
  }
};

class VulkanArchitecture : public VulkanGolden, public testing::WithParamInterface<GoldenCase> {};

TEST_P(VulkanArchitecture, logits_have_the_bits_of_the_cpu) {
  const GoldenCase& golden = GetParam();
  ModelConfig config = ModelConfig::parse(golden.config, golden.name);
  config.context_length =
      choose_context_length(config, golden.context_length, LongerContext::kRefuse);
  const auto weights =
      decoder_weights(open_checkpoint(golden.checkpoint, "safetensors", false), config);
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    compare([&](Ops& ops) { return std::make_unique<Decoder>(ops, config, *weights, dtype); },
            golden.tokens);
}

INSTANTIATE_TEST_SUITE_P(Cases, VulkanArchitecture, testing::ValuesIn(read_golden_cases()),
                         [](const auto& info) { return info.param.name; });

// A folder, and what --quantization says.
struct Stored {
  std::string folder, quantization;
};
void PrintTo(const Stored& stored, std::ostream* out) { *out << stored.folder; }

std::vector<Stored> stored() {
  const std::filesystem::path golden = FORETOKEN_SOURCE_DIR "/tests/golden";
  std::vector<Stored> all;
  for (const auto& entry : std::filesystem::directory_iterator(golden / "quantized"))
    all.push_back({entry.path(), ""});
  for (const char* folder : {"mixtral", "gpt_oss", "gpt_oss_mxfp4", "deepseek_v3_experts"})
    for (const char* quantization : {"w8a16", "w4a8"})
      all.push_back({golden / "checkpoints" / folder, quantization});
  std::ranges::sort(all, {}, &Stored::folder);
  return all;
}

class VulkanStored : public VulkanGolden, public testing::WithParamInterface<Stored> {};

TEST_P(VulkanStored, logits_have_the_bits_of_the_cpu) {
  ModelOptions options;
  options.show_progress = false;
  options.dtype = "bfloat16";
  options.quantization = quantization_named(GetParam().quantization, false, "test");
  std::vector<Token> text;
  for (Token token = 0; token < 90; ++token) text.push_back(token * 7 % 61);
  compare([&](Ops& ops) { return load_model(ops, GetParam().folder, options); }, text);
}

INSTANTIATE_TEST_SUITE_P(Cases, VulkanStored, testing::ValuesIn(stored()), [](const auto& info) {
  const Stored& of = info.param;
  return std::filesystem::path(of.folder).filename().string() +
         (of.quantization.empty() ? "" : "_as_" + of.quantization);
});

}  // namespace
}  // namespace foretoken::vulkan_golden_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  foretoken::set_log_level(foretoken::LogLevel::kError);
  return RUN_ALL_TESTS();
}
