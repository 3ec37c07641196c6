#pragma once
// The logits of a short text by a model on disk, for tests: one forward pass, without an engine.
// Not of several sequences, and not fast.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/decoder/load.h"
#include "model/runner.h"

namespace foretoken {

// Of each position of `tokens`, which fit the page of 16 or the pages that they need.
inline std::vector<float> whole_logits(Ops& ops, const std::string& path,
                                       const ModelOptions& options,
                                       const std::vector<Token>& tokens) {
  constexpr std::size_t kPageTokens = 16;
  const auto decoder = load_model(ops, path, options);
  const std::size_t pages = tokens.size() / kPageTokens + 1;
  Runner runner(ops, *decoder, static_cast<std::int32_t>(pages));
  SeqTable table(1);
  table.pages[0].clear();
  for (std::size_t page = 0; page < pages; ++page)
    table.pages[0].push_back(static_cast<PageId>(page));
  DraftTrees trees(1, 1);
  trees.plant(0, tokens.back());
  const SamplingParams params;
  StepPlan plan;
  plan.entries.push_back({.slot = 0,
                          .chain = std::span(tokens).first(tokens.size() - 1),
                          .has_tree = true,
                          .score_from = 0,
                          .after_chain = tokens.back(),
                          .params = &params});
  Batch batch;
  ops.layout(plan, trees, table, batch);
  const Tensor logits = runner.logits(runner.forward(batch, FeatureTaps{}), batch);
  return {logits.f32(), logits.f32() + logits.elements()};
}

// |found - known| / |known|.
inline double relative_error(const std::vector<float>& found, const std::vector<float>& known) {
  double squares = 0.0, of_error = 0.0;
  for (std::size_t i = 0; i < known.size(); ++i) {
    squares += double{known[i]} * known[i];
    of_error += (double{found[i]} - known[i]) * (double{found[i]} - known[i]);
  }
  return std::sqrt(of_error / squares);
}

}  // namespace foretoken
