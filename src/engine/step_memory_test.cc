// The bound of what a step takes, against what steps took: with every kind of drafter, prompts that
// fill a step, scored prompts, and all sequences decoding at once.
#include "engine/step_memory.h"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/threads.h"
#include "draft/with_model/model_drafter.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "engine/testing/random_heads.h"
#include "engine/testing/tiny_model.h"
#include "model/heads/language_draft.h"
#include "model/runner.h"

namespace foretoken {
namespace {

constexpr int kPages = 128, kSlots = 4;
constexpr TreeShape kShape{.steps = 3, .topk = 4, .nodes = 12};

ModelConfig tiny_config() { return tiny_model(300, 512); }

EngineConfig engine_config() {
  EngineConfig config;
  config.max_running_requests = kSlots;
  config.total_tokens = kPages * kPageTokens;
  config.context_length = 400;
  config.chunked_prefill_size = 160;
  config.check_integrity = true;
  return config;
}

std::vector<Request> requests() {
  std::vector<Request> made;
  for (int i = 0; i < 2 * kSlots; ++i) {
    Request request;
    request.id = std::to_string(i);
    for (int p = 0; p < 150 + 20 * i; ++p) request.prompt.push_back((i * 31 + p * 7) % 300);
    request.sampling.temperature = 0.7F;
    request.sampling.seed = static_cast<std::uint64_t>(i);
    request.max_new_tokens = 20 + i;
    if (i % 2 == 1) request.logprob_start = 10 * i;
    made.push_back(std::move(request));
  }
  return made;
}

enum class Kind {
  kNone,
  kStandalone,
  kEagle,
  kFrSpec,
  kEagle3,
  kMimo,
  kNextn,
  kMimos,
  kNextns,
  kQueries
};
void PrintTo(Kind kind, std::ostream* out) { *out << static_cast<int>(kind); }

// A model of its own with its own memory, and what it answered.
struct Rig {
  Rig(Kind kind, const char* device)
      : ops(make_backend({.device = device, .cpu_isa = "auto", .gemm_order = "auto"}, threads)),
        target(*ops, tiny_config(), *dummy_weights(1), DType::kBF16),
        runner(*ops, target, kPages) {
    if (kind == Kind::kStandalone)
      draft = std::make_unique<LanguageDraft>(
          *ops, std::make_unique<Decoder>(*ops, tiny_config(), *dummy_weights(1), DType::kBF16),
          300);
    else if (kind != Kind::kNone)
      draft = random_head(
          *ops, target,
          static_cast<RandomHead>(static_cast<int>(kind) - static_cast<int>(Kind::kEagle)));
  }

  std::size_t bound(const EngineConfig& config) const {
    StepModels models{.target = target.config(), .draft = draft.get()};
    if (draft) {
      models.shape = kShape;
      models.max_nodes = kShape.nodes;
    }
    return most_step_bytes(config, *ops, models);
  }

  std::vector<TokenDelta> answer(const EngineConfig& config) {
    std::unique_ptr<Drafter> drafter = make_null_drafter();
    if (draft) {
      draft->allocate_kv(kPages);
      drafter =
          std::make_unique<ModelDrafter>(*ops, std::move(draft), kShape, kPages, kSlots,
                                         std::make_unique<DraftPace>(), config.logit_slice_bytes);
    }
    Engine engine(config, *ops, runner, *drafter);
    return start_and_run(engine, requests());
  }

  ThreadPool threads{2, false};
  std::unique_ptr<Ops> ops;
  Decoder target;
  Runner runner;
  std::unique_ptr<DraftModel> draft;
};

class StepMemory : public testing::TestWithParam<Kind> {};

TEST_P(StepMemory, no_step_takes_more_than_planned) {
  for (const int chunk : {160, -1}) {
    Rig rig(GetParam(), "cpu");
    EngineConfig config = engine_config();
    config.chunked_prefill_size = chunk;
    config.max_prefill_tokens = 300;
    const std::size_t bound = rig.bound(config);
    rig.answer(config);
    EXPECT_LE(rig.ops->most_step_bytes(), bound) << "chunks of " << chunk;
    // A bound that is far from what is needed would refuse what fits. These steps are not the
    // worst there are, and how far they stay below it depends on the instruction set.
    EXPECT_GE(8 * rig.ops->most_step_bytes(), bound) << "chunks of " << chunk;
  }
}

TEST_P(StepMemory, logits_in_slices_are_the_same_and_take_less) {
  Rig whole(GetParam(), "cpu"), sliced(GetParam(), "cpu");
  EngineConfig config = engine_config();
  const std::size_t bound_of_whole = whole.bound(config);
  const auto expected = whole.answer(config);
  config.logit_slice_bytes = 5 * 300 * sizeof(float);
  const std::size_t bound = sliced.bound(config);
  const auto found = sliced.answer(config);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(difference(found[i].tokens, expected[i].tokens), "") << "request " << i;
    EXPECT_EQ(difference(found[i].prompt_scores, expected[i].prompt_scores), "") << "request " << i;
  }
  EXPECT_LE(sliced.ops->most_step_bytes(), bound);
  EXPECT_LE(bound, bound_of_whole);  // equal where something else is the largest
}

INSTANTIATE_TEST_SUITE_P(Drafters, StepMemory,
                         testing::Values(Kind::kNone, Kind::kStandalone, Kind::kEagle,
                                         Kind::kFrSpec, Kind::kEagle3, Kind::kMimo, Kind::kNextn,
                                         Kind::kMimos, Kind::kNextns, Kind::kQueries),
                         testing::PrintToStringParamName());

TEST(StepMemoryBound, holds_for_the_reference_backend) {
  Rig rig(Kind::kEagle3, "reference");
  const std::size_t bound = rig.bound(engine_config());
  rig.answer(engine_config());
  EXPECT_LE(rig.ops->most_step_bytes(), bound);
}

TEST(StepMemoryBound, grows_with_what_a_step_may_hold) {
  const EngineConfig config = engine_config();
  EXPECT_EQ(most_step_rows(config, 1), 160);
  EXPECT_EQ(most_step_rows(config, 64), kSlots * 64 + 40);
  EXPECT_EQ(most_step_rows(config, 64, 200), kSlots + 200 + 40);
  EngineConfig whole_prompts = config;
  whole_prompts.chunked_prefill_size = -1;
  whole_prompts.max_prefill_tokens = 1000;
  EXPECT_EQ(most_step_rows(whole_prompts, 16), kSlots * 16 + 1000);
  // No more prompt than there can be.
  whole_prompts.max_prefill_tokens = 1 << 30;
  EXPECT_EQ(most_step_rows(whole_prompts, 16), kSlots * (16 + 400));
}

}  // namespace
}  // namespace foretoken
