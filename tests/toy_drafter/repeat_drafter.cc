// REPEAT: drafts that the last tokens of the text come once more. Right for lists and refrains,
// wrong for all else. It shows what a drafter is made of: this file, and one line in the table.
// One of each: a class that proposes, options, the flag that fills them, and the row.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/index.h"
#include "draft/algorithm.h"
#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/shape_rules.h"

namespace foretoken {
namespace {

struct RepeatOptions {
  int tokens = 4;  // at the end of the text, that come again
};

class RepeatDrafter final : public Drafter {
 public:
  RepeatDrafter(const RepeatOptions& options, PartSetup part)
      : tokens_(at(options.tokens)),
        nodes_(part.shape.nodes),
        pace_(std::move(part.pace)),
        last_(at(part.num_slots)) {}

  DraftNeeds needs() const override { return {.taps = {}, .max_nodes = nodes_}; }
  void open(SeqSlot slot, const DraftRequest& request) override {
    last_[at(slot)].assign(request.tokens.begin(), request.tokens.end());
  }
  void close(SeqSlot slot) override { last_[at(slot)].clear(); }
  void observe(const CommittedRows& rows) override {
    for (const WalkSeq& found : rows.walk.seqs) {
      std::vector<Token>& last = last_[at(found.slot)];
      for (const SampledToken& token : found.emitted) last.push_back(token.token);
      if (last.size() > tokens_)
        last.erase(last.begin(), last.end() - static_cast<std::ptrdiff_t>(tokens_));
    }
  }
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::vector<Token>& last = last_[at(slots[i])];
      if (last.size() < tokens_ || pace_->rests(slots[i])) continue;
      const int drafts = std::min({nodes_ - 1, limits[i].nodes - 1, limits[i].depth});
      for (int depth = 0; depth < drafts; ++depth)
        trees.grow(slots[i], depth, last[at(depth) % tokens_], kChance);
    }
  }

 private:
  static constexpr float kChance = 0.5F;  // that it comes again, which nobody has counted

  const std::size_t tokens_;
  const int nodes_;
  const std::shared_ptr<const DraftPace> pace_;
  std::vector<std::vector<Token>> last_;  // by slot
};

std::vector<Flag> flags() {
  return {{.names = {"--speculative-repeat-tokens"},
           .kind = FlagKind::kInteger,
           .text = "tokens at the end of the text that are drafted once more",
           .default_value = "4"}};
}

void read(const FlagValues& values, OwnOptions& own) {
  own.edit<RepeatOptions>().tokens =
      static_cast<int>(integer_within(values, "--speculative-repeat-tokens", 1, 64));
}

TreeShape shape_of(const DraftOptions& options, const std::string&) {
  return chain_shape(options, "REPEAT", 1 + 2 * options.own.get<RepeatOptions>().tokens);
}

std::unique_ptr<Drafter> make(PartSetup part) {
  const RepeatOptions options = part.setup.options.own.get<RepeatOptions>();
  return std::make_unique<RepeatDrafter>(options, std::move(part));
}

}  // namespace

extern constinit const Algorithm kRepeat = {
    .name = "REPEAT",
    .help = "the end of the text once more",
    .flags = flags,
    .read = read,
    .shape = shape_of,
    .make = make,
};

}  // namespace foretoken
