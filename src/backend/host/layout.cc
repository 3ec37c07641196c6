#include <algorithm>
#include <array>
#include <bit>

#include "backend/host/host_step.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

bool is_path(std::span<const std::int32_t> parents) {
  for (std::size_t n = 0; n < parents.size(); ++n)
    if (parents[n] != static_cast<std::int32_t>(n) - 1) return false;
  return true;
}

void add_tree_rows(std::span<const Token> tokens, std::span<const std::int32_t> parents,
                   std::int32_t root_position, Batch& batch) {
  std::array<std::int32_t, kMaxTreeNodes> depths;
  std::array<std::uint64_t, kMaxTreeNodes> masks;
  tree_depths(parents, std::span(depths).first(parents.size()));
  tree_masks(parents, std::span(masks).first(parents.size()));
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    batch.token.push_back(tokens[n]);
    batch.position.push_back(root_position + depths[n]);
    batch.mask.push_back(masks[n]);
  }
}

}  // namespace

ScoredRows scored_rows(const StepEntry& entry) {
  if (entry.score_from < 0) return {};
  const auto chain = static_cast<int>(entry.chain.size());
  const bool knows_last = entry.has_tree || entry.after_chain != kNoToken;
  const int end = knows_last ? chain : chain - 1;
  return entry.score_from < end ? ScoredRows{entry.score_from, end} : ScoredRows{};
}

void layout_rows(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
                 Batch& batch) {
  batch.clear();
  for (const StepEntry& entry : plan.entries) {
    const auto tokens = entry.has_tree ? trees.tokens(entry.slot) : std::span<const Token>{};
    const auto parents =
        entry.has_tree ? trees.parents(entry.slot) : std::span<const std::int32_t>{};
    const auto chain = static_cast<std::int32_t>(entry.chain.size());
    const BatchSeq seq{.slot = entry.slot,
                       .first_row = batch.rows,
                       .rows = chain + static_cast<std::int32_t>(tokens.size()),
                       .base = table.length[at(entry.slot)],
                       .chain = chain,
                       .first_page = static_cast<std::int32_t>(batch.pages.size()),
                       .num_pages = pages_for(table.length[at(entry.slot)] + chain +
                                              static_cast<std::int32_t>(tokens.size())),
                       .is_chain = is_path(parents),
                       .state_page = 2 * entry.slot + table.state[at(entry.slot)]};
    const std::vector<PageId>& pages = table.pages[at(entry.slot)];
    CHECK(at(seq.num_pages) <= pages.size())
        << "slot " << seq.slot << ": " << seq.base << " + " << seq.rows << " tokens in "
        << pages.size() << " pages";
    batch.pages.insert(batch.pages.end(), pages.begin(), pages.begin() + seq.num_pages);

    batch.token.insert(batch.token.end(), entry.chain.begin(), entry.chain.end());
    for (std::int32_t i = 0; i < chain; ++i) batch.position.push_back(seq.base + i);
    batch.mask.resize(at(seq.first_row + chain), 0);
    add_tree_rows(tokens, parents, seq.base + chain, batch);
    for (std::int32_t i = 0; i < seq.rows; ++i) {
      const std::int32_t index = seq.base + i;
      batch.kv_slot.push_back(pages[at(index / kPageTokens)] * kPageTokens + index % kPageTokens);
    }
    batch.seq.resize(at(seq.first_row + seq.rows), static_cast<std::int32_t>(batch.seqs.size()));

    const ScoredRows scored = scored_rows(entry);
    for (int i = scored.begin; i < scored.end; ++i) batch.logit_rows.push_back(seq.first_row + i);
    for (std::int32_t i = chain; i < seq.rows; ++i) batch.logit_rows.push_back(seq.first_row + i);
    batch.rows += seq.rows;
    batch.seqs.push_back(seq);
  }
}

std::int32_t place_in_text(const Batch& batch, int row) {
  const BatchSeq& seq = batch.seqs[at(batch.seq[at(row)])];
  const std::uint64_t nodes = batch.mask[at(row)];
  const std::int32_t tree = seq.base + seq.chain;
  return nodes == 0 ? std::min(seq.base + row - seq.first_row, tree - 1)
                    : tree + std::popcount(nodes) - 1;
}

void visible_slots(const Batch& batch, int row, std::vector<std::int32_t>& out) {
  const BatchSeq& seq = batch.seqs[at(batch.seq[at(row)])];
  const std::int32_t* pages = batch.pages.data() + seq.first_page;
  const auto add = [&](std::int32_t index) {
    out.push_back(pages[index / kPageTokens] * kPageTokens + index % kPageTokens);
  };
  out.clear();
  const std::int32_t i = row - seq.first_row, tree = seq.base + seq.chain;
  const std::int32_t shared = std::min(seq.base + i + 1, tree);
  std::uint64_t nodes = batch.mask[at(row)];
  // On a path slots would be places in the text, and first_slot counts such places.
  const std::int32_t first = std::min(seq.first_slot, place_in_text(batch, row));
  for (std::int32_t index = first; index < shared; ++index) add(index);
  for (std::int32_t place = tree; nodes != 0; nodes &= nodes - 1, ++place)
    if (place >= first) add(tree + std::countr_zero(nodes));
}

}  // namespace foretoken
