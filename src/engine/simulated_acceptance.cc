#include "engine/simulated_acceptance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/index.h"
#include "base/rng.h"

namespace foretoken {
namespace {

constexpr std::uint64_t kSeed = 0x5eed;
// Added to a logit: more than temperature, noise, penalties and biases can make up for, and still
// exact enough beside it in float32.
constexpr float kPush = 1e5F;

double uniform(std::uint64_t draw) {  // in (0, 1)
  return (static_cast<double>(mix_seed(kSeed, draw) >> 40) + 0.5) * 0x1p-24;
}

}  // namespace

int AcceptanceSimulation::tokens(std::uint64_t draw) const {
  if (method == Method::kMatchExpected) {
    const double floor = std::floor(length);
    return std::max(1, static_cast<int>(floor) + (uniform(2 * draw) < length - floor ? 1 : 0));
  }
  const double normal = std::sqrt(-2 * std::log(uniform(2 * draw))) *
                        std::cos(2 * std::numbers::pi * uniform(2 * draw + 1));
  return std::max(1, static_cast<int>(std::lround(length + normal)));
}

double AcceptanceSimulation::chance(int drafts) const {
  if (drafts <= 0) return 1;
  if (method == Method::kMatchExpected) return std::clamp(length - drafts, 0.0, 1.0);
  return std::erfc((drafts + 0.5 - length) / std::numbers::sqrt2) / 2;
}

Tensor SimulatedAcceptance::logits(const Features& features, const Batch& batch) {
  const Tensor logits = target_.logits(features, batch);
  addends_.clear();
  for (const BatchSeq& seq : batch.seqs) {
    const std::int32_t root = seq.first_row + seq.chain;
    if (seq.rows - seq.chain < 2) continue;
    const auto at = std::ranges::lower_bound(batch.logit_rows, root);
    bend(batch, seq, static_cast<std::int32_t>(at - batch.logit_rows.begin()));
  }
  ops_.add_elements(logits, addends_);
  return logits;
}

// root_logits: the row of logits that belongs to the root; the other nodes follow it.
void SimulatedAcceptance::bend(const Batch& batch, const BatchSeq& seq, std::int32_t root_logits) {
  const int nodes = seq.rows - seq.chain;
  const auto row = [&](int node) { return at(seq.first_row + seq.chain + node); };
  const auto depth = [&](int node) { return std::popcount(batch.mask[row(node)]); };  // root: 1
  const auto push = [&](int node, Token token, float by) {
    addends_.push_back({.row = root_logits + node, .column = token, .value = by});
  };
  const int wanted = simulation_.tokens(draws_++);
  int last = 0;  // of the path that is to be accepted
  for (int node = 1; node < nodes; ++node)
    if (depth(node) <= wanted && depth(node) > depth(last)) last = node;

  const std::uint64_t path = batch.mask[row(last)];
  int parent = 0;
  for (int node = 1; node <= last; ++node)
    if ((path >> node & 1) != 0) {
      push(parent, batch.token[row(node)], kPush);
      parent = node;
    }
  for (int node = last + 1; node < nodes; ++node)
    if (batch.mask[row(node)] == (path | std::uint64_t{1} << node))
      push(last, batch.token[row(node)], -kPush);
}

}  // namespace foretoken
