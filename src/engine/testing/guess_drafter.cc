#include "engine/testing/guess_drafter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {

GuessDrafter::GuessDrafter(const Options& options, std::vector<std::vector<Token>> texts)
    : options_(options), texts_(std::move(texts)), random_(options.seed) {}

DraftNeeds GuessDrafter::needs() const { return {.taps = {}, .max_nodes = options_.max_nodes}; }

void GuessDrafter::open(SeqSlot slot, const DraftRequest& request) {
  const auto index = at(slot);
  if (text_of_.size() <= index) text_of_.resize(index + 1);
  CHECK(text_of_[index].empty()) << "slot " << slot << " was opened twice";
  text_of_[index].assign(request.tokens.begin(), request.tokens.end());
}

void GuessDrafter::close(SeqSlot slot) {
  auto& text = text_of_[at(slot)];
  CHECK(!text.empty()) << "slot " << slot << " was closed without being open";
  text.clear();
}

// What the drafter knows of a sequence must be what the step says of it, row by row.
void GuessDrafter::observe(const CommittedRows& rows) {
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const WalkSeq& found = rows.walk.seqs[i];
    const BatchSeq& seq = rows.batch.seqs[i];
    auto& text = text_of_[at(found.slot)];
    CHECK(!text.empty()) << "slot " << found.slot << " was observed while closed";
    for (std::int32_t row = 0; row < seq.chain; ++row)
      CHECK(text[at(seq.base + row)] == rows.batch.token[at(seq.first_row + row)]);
    if (found.path.empty()) continue;
    CHECK(text.size() == at(seq.base + seq.chain) + 1) << "the root is not the last token";
    for (const SampledToken& token : found.emitted) text.push_back(token.token);
  }
}

std::span<const Token> GuessDrafter::true_continuation(const std::vector<Token>& text) const {
  for (const auto& known : texts_)
    if (known.size() > text.size() && std::equal(text.begin(), text.end(), known.begin()))
      return std::span(known).subspan(text.size());
  return {};
}

void GuessDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                           DraftTrees& trees) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& text = text_of_[at(slots[i])];
    CHECK(trees.size(slots[i]) == 1 && trees.tokens(slots[i])[0] == text.back());
    grow_tree(slots[i], limits[i], trees);
    proposed_nodes_ += trees.size(slots[i]) - 1;
  }
}

void GuessDrafter::grow_tree(SeqSlot slot, const TreeLimits& limits, DraftTrees& trees) {
  const auto truth = true_continuation(text_of_[at(slot)]);
  struct Node {
    int depth = 0, children = 0;
    bool is_true = false;  // root and ancestors included
  };
  std::vector<Node> grown{{.depth = 0, .children = 0, .is_true = true}};
  const int wanted = 1 + static_cast<int>(random_() % static_cast<std::uint64_t>(limits.nodes));
  for (int tries = 0; trees.size(slot) < wanted && tries < 4 * wanted; ++tries) {
    // The newest node half of the time, so that deep trees occur.
    const auto parent = random_() % 2 ? grown.size() - 1 : random_() % grown.size();
    Node& from = grown[parent];
    if (from.depth >= std::min(options_.depth, limits.depth) || from.children >= options_.topk)
      continue;
    const auto depth = at(from.depth);
    const bool knows = from.is_true && depth < truth.size();
    const bool tells = knows && static_cast<double>(random_() % 1000) < options_.truth * 1000;
    const Token token =
        tells ? truth[depth]
              : static_cast<Token>(random_() % static_cast<std::uint64_t>(options_.vocab));
    const int before = trees.size(slot);
    if (trees.grow(slot, static_cast<int>(parent), token) < before) continue;
    ++from.children;
    grown.push_back({.depth = static_cast<int>(depth) + 1,
                     .children = 0,
                     .is_true = knows && token == truth[depth]});
  }
}

}  // namespace foretoken
