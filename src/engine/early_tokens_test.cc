// What a step has found is sent before drafts are made from it.
#include <atomic>
#include <memory>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "engine/engine.h"
#include "engine/testing/answers.h"
#include "engine/testing/hash_model.h"

namespace foretoken::early_tokens_test {
namespace {

constexpr std::int64_t kVocab = 64;
constexpr int kPages = 16;

// Proposes nothing, and does not begin before it may.
class WaitingDrafter final : public Drafter {
 public:
  DraftNeeds needs() const override { return {.taps = {}, .max_nodes = 4}; }
  void open(SeqSlot, const DraftRequest&) override {}
  void close(SeqSlot) override {}
  void observe(const CommittedRows&) override { may_draft.wait(false); }
  void propose(std::span<const SeqSlot>, std::span<const TreeLimits>, DraftTrees&) override {}

  std::atomic<bool> may_draft = false;
};

TEST(EarlyTokens, the_first_token_does_not_wait_for_drafts) {
  ThreadPool threads(1, false);
  const auto ops = make_backend({.device = "reference"}, threads);
  HashModel model(*ops, kPages, kVocab);
  WaitingDrafter drafter;
  EngineConfig config;
  config.max_running_requests = 2;
  config.total_tokens = kPages * kPageTokens;
  config.context_length = 100;
  config.check_integrity = true;
  Engine engine(config, *ops, model, drafter);
  engine.start();
  Request asked;
  for (int i = 0; i < 20; ++i) asked.prompt.push_back(i);
  asked.max_new_tokens = 5;
  const auto expected = HashOracle::answer(asked, kVocab).output;
  asked.stream = std::make_shared<TokenStream>();
  const auto stream = asked.stream;
  ASSERT_FALSE(engine.submit(std::move(asked)));
  const TokenDelta first = stream->wait();  // the drafter waits
  ASSERT_EQ(first.tokens.size(), 1U);
  EXPECT_EQ(first.tokens[0].token, expected[0].token);
  drafter.may_draft = true;
  drafter.may_draft.notify_all();
  const TokenDelta rest = collect(*stream);
  ASSERT_EQ(rest.tokens.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rest.tokens[i].token, expected[i + 1].token);
  EXPECT_EQ(rest.finish->reason, FinishReason::kLength);
}

}  // namespace
}  // namespace foretoken::early_tokens_test
