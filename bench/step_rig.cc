#include "bench/step_rig.h"

#include <chrono>
#include <numeric>

namespace foretoken {
namespace {

constexpr int kMaxPrompt = 4096;

}  // namespace

int StepRig::pages_needed(int context) {
  return (std::max(context, kMaxPrompt) + kMaxTreeNodes) / kPageTokens + 1;
}

StepRig::StepRig(Ops& ops, Runner& runner, int context)
    : ops_(ops), runner_(runner), context_(context), trees_(1, kMaxTreeNodes), table_(1) {
  greedy_.temperature = 0.0F;
  greedy_.top_logprobs = -1;
  const std::int64_t vocab = runner.decoder().config().vocab;
  for (int i = 0; i < std::max(context, kMaxPrompt); ++i)
    prompt_.push_back(static_cast<Token>((i * 7919LL + 13) % vocab));
  table_.pages[0].resize(static_cast<std::size_t>(pages_needed(context)));
  std::iota(table_.pages[0].begin(), table_.pages[0].end(), 0);
  if (context > 0) time_prefill(context);  // gives the context real keys and values
}

double StepRig::time_verify(int nodes) {
  trees_.plant(0, prompt_[0]);
  for (int n = 1; n < nodes; ++n)
    trees_.grow(0, n < 8 ? n - 1 : 0, prompt_[static_cast<std::size_t>(n)]);
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true, .params = &greedy_});
  return run(plan, context_);
}

double StepRig::time_prefill(int tokens) {
  trees_.plant(0, prompt_[static_cast<std::size_t>(tokens - 1)]);
  StepPlan plan;
  plan.entries.push_back({.slot = 0,
                          .chain = std::span(prompt_).first(static_cast<std::size_t>(tokens - 1)),
                          .has_tree = true,
                          .params = &greedy_});
  return run(plan, 0);
}

double StepRig::run(const StepPlan& plan, int base) {
  table_.length[0] = base;
  const auto start = std::chrono::steady_clock::now();
  ops_.layout(plan, trees_, table_, batch_);
  const Features features = runner_.forward(batch_, FeatureTaps{});
  const Tensor logits = runner_.logits(features, batch_);
  Walk walk;
  ops_.verify(plan, trees_, batch_, logits, walk);
  ops_.read_back();
  ops_.kv_keep(walk, batch_, runner_.kv_layers());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace foretoken
