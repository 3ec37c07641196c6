#pragma once
// Proposing: what a drafter proposes behind a text, and the logits of its draft model, through the
// same path as serving: checkpoints from disk, the prompt in chunks, the drafter. For tests only.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/threads.h"
#include "draft/catalogue/make_drafter.h"
#include "draft_case.h"
#include "model/decoder/load.h"
#include "model/runner.h"

namespace foretoken {

constexpr int kGoldenTopk = 3;
constexpr TreeShape kTwoLevels{
    .steps = 2, .topk = kGoldenTopk, .nodes = 1 + kGoldenTopk + kGoldenTopk * kGoldenTopk};

struct Proposal {
  std::vector<Token> tokens;
  std::vector<std::int32_t> parents;
  std::vector<std::vector<float>> logits;  // of the root, then of its children
};

// Commits the tokens in chunks and lets the drafter propose a tree.
class Proposing {
 public:
  Proposing(const DraftCase& draft, const std::string& device, DType dtype,
            const TreeShape& shape = kTwoLevels);

  // hand_over: after how many tokens, whole pages, another sequence goes on with the pages, as
  // after a prefix hit; 0: never. decoded: how many of the last tokens come one by one, as answers
  // do; all but the last while the drafter rests.
  Proposal run(int chunk, int hand_over = 0, int decoded = 0);

  // Then a text goes on from the end of a block of states only.
  bool keeps_states() const { return !decoder_->config().recurrent.layers.empty(); }

 private:
  void take_over(Drafter& drafter, const Runner& runner, SeqTable& table);
  void commit(Drafter& drafter, Runner& runner, SeqTable& table, DraftTrees& trees,
              std::pair<int, int> range, bool samples);

  const DraftCase& draft_;
  const TreeShape shape_;
  SeqSlot slot_ = 0;
  bool rests_ = false;
  SamplingParams params_;
  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  DraftOptions options_;
  std::unique_ptr<Decoder> decoder_;
};

// The largest difference, over the largest value that is expected.
double largest_error(const std::vector<float>& found, const std::vector<float>& expected);

}  // namespace foretoken
