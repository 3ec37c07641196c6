#pragma once
// The logits of a short text, for tests: one forward pass, without an engine.
// Not of several sequences, and not fast.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/decoder/load.h"
#include "model/runner.h"

namespace foretoken {

// Logits [tokens.size(), vocab] of every position of `tokens`; in scratch. The runner has the pages
// that they need.
inline Tensor text_logits(Ops& ops, Runner& runner, std::span<const Token> tokens) {
  SeqTable table(1);
  table.pages[0].clear();
  for (PageId page = 0; page < pages_for(static_cast<int>(tokens.size())); ++page)
    table.pages[0].push_back(page);
  DraftTrees trees(1, 1);
  trees.plant(0, tokens.back());
  const SamplingParams params;
  StepPlan plan;
  plan.entries.push_back({.slot = 0,
                          .chain = tokens.first(tokens.size() - 1),
                          .has_tree = true,
                          .score_from = 0,
                          .after_chain = tokens.back(),
                          .params = &params});
  Batch batch;
  ops.layout(plan, trees, table, batch);
  return runner.logits(runner.forward(batch, FeatureTaps{}), batch);
}

inline std::vector<float> text_logits(Ops& ops, const Decoder& decoder,
                                      std::span<const Token> tokens) {
  Runner runner(ops, decoder, pages_for(static_cast<int>(tokens.size())));
  const Tensor logits = text_logits(ops, runner, tokens);
  return {logits.f32(), logits.f32() + logits.elements()};
}

// The same by the model in a folder or file.
inline std::vector<float> whole_logits(Ops& ops, const std::string& path,
                                       const ModelOptions& options,
                                       const std::vector<Token>& tokens) {
  return text_logits(ops, *load_model(ops, path, options), tokens);
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
