#include "bench/step_rig.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/rng.h"
#include "base/seconds_since.h"

namespace foretoken {
namespace {

constexpr int kChunk = 512;  // prompt tokens of a step, as a server would read them

}  // namespace

int StepRig::pages_needed(int context, int longest_prompt) {
  return (std::max(context, longest_prompt) + kMaxTreeNodes) / kPageTokens + 1;
}

StepRig::StepRig(Ops& ops, Runner& runner, int context, int longest_prompt, int sequences)
    : ops_(ops),
      runner_(runner),
      context_(context),
      trees_(sequences, kMaxTreeNodes),
      table_(sequences) {
  greedy_.temperature = 0.0F;
  greedy_.top_logprobs = -1;
  const std::int64_t vocab = runner.decoder().config().vocab;
  for (int i = 0; i < std::max({context, longest_prompt, kMaxTreeNodes}); ++i)
    prompt_.push_back(static_cast<Token>((i * 7919LL + 13) % vocab));
  PageId next = 0;
  for (SeqSlot slot = 0; slot < sequences; ++slot) {
    auto& pages = table_.pages[static_cast<std::size_t>(slot)];
    pages.resize(static_cast<std::size_t>(pages_needed(context, longest_prompt)));
    std::iota(pages.begin(), pages.end(), next);
    next += static_cast<PageId>(pages.size());
    fill(slot);
  }
}

// Keys and values of made-up numbers, as a prompt would leave them, in the time of storing them.
// States stay 0: they take as long.
void StepRig::fill(SeqSlot slot) {
  constexpr int kChunk = 512;
  const ModelConfig& config = runner_.decoder().config();
  const AttentionShape shape{
      .heads = config.heads, .kv_heads = config.kv_heads, .head_dim = config.head_dim, .scale = 1};
  const RopeTable still{.cos = ops_.alloc(DType::kF32, {std::max(context_, 1), 1}),
                        .sin = ops_.alloc(DType::kF32, {std::max(context_, 1), 1}),
                        .rotary_dim = 0};
  const std::int64_t dim = config.head_dim, q_width = shape.heads * dim,
                     width = q_width + 2 * shape.kv_heads * dim;
  std::vector<float> values(static_cast<std::size_t>(kChunk * width));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(mix_seed(5, i) >> 40) * 0x1p-23F - 1.0F;
  for (int base = 0; base < context_; base += kChunk) {
    const int rows = std::min(kChunk, context_ - base);
    StepPlan plan;
    plan.entries.push_back({.slot = slot,
                            .chain = std::span(prompt_).subspan(static_cast<std::size_t>(base),
                                                                static_cast<std::size_t>(rows))});
    table_.length[static_cast<std::size_t>(slot)] = base;
    ops_.layout(plan, trees_, table_, batch_);
    const Tensor qkv = ops_.temp(DType::kF32, {rows, width});
    const Tensor q = ops_.temp(DType::kF32, {rows, q_width});
    ops_.upload({values.data(), DType::kF32, {rows, width}}, qkv);
    for (const KvLayer& layer : runner_.kv_layers())
      if (!layer.states.shape.is_on()) ops_.rope_store_kv(qkv, still, {}, shape, batch_, layer, q);
    ops_.read_back();
  }
}

double StepRig::time_verify(int nodes) {
  trees_.plant(0, prompt_[0]);
  for (int n = 1; n < nodes; ++n)
    trees_.grow(0, n < 8 ? n - 1 : 0, prompt_[static_cast<std::size_t>(n)]);
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true, .params = &greedy_});
  return run(plan, context_);
}

double StepRig::time_sequences(int count) {
  StepPlan plan;
  for (SeqSlot slot = 0; slot < count; ++slot) {
    trees_.plant(slot, prompt_[static_cast<std::size_t>(slot)]);
    plan.entries.push_back({.slot = slot, .has_tree = true, .params = &greedy_});
  }
  return run(plan, context_);
}

double StepRig::time_prefill(int tokens) {
  trees_.plant(0, prompt_[static_cast<std::size_t>(tokens - 1)]);
  const std::span<const Token> chain(prompt_.data(), static_cast<std::size_t>(tokens - 1));
  double seconds = 0;
  for (std::size_t base = 0; base == 0 || base < chain.size(); base += kChunk) {
    const bool is_last = base + kChunk >= chain.size();
    StepPlan plan;
    plan.entries.push_back(
        {.slot = 0,
         .chain = chain.subspan(base, is_last ? std::dynamic_extent : std::size_t{kChunk}),
         .has_tree = is_last,
         .params = &greedy_});
    seconds += run(plan, static_cast<int>(base));
  }
  return seconds;
}

double StepRig::run(const StepPlan& plan, int base) {
  for (const StepEntry& entry : plan.entries)
    table_.length[static_cast<std::size_t>(entry.slot)] = base;
  const auto start = std::chrono::steady_clock::now();
  ops_.layout(plan, trees_, table_, batch_);
  const Features features = runner_.forward(batch_, FeatureTaps{});
  if (batch_.logit_rows.empty()) {
    ops_.read_back();
    return seconds_since(start);
  }
  const Tensor logits = runner_.logits(features, batch_);
  Walk walk;
  ops_.verify(plan, trees_, batch_, logits, walk);
  ops_.read_back();
  ops_.kv_keep(walk, batch_, runner_.kv_layers());
  return seconds_since(start);
}

}  // namespace foretoken
