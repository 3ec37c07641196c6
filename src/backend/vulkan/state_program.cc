#include "backend/vulkan/state_program.h"

#include <algorithm>

#include "backend/host/state_paths.h"
#include "base/index.h"

namespace foretoken {
namespace {

std::uint32_t coded(std::uint32_t kind, std::int64_t number) {
  return kind | static_cast<std::uint32_t>(number);
}

std::vector<std::int32_t> pages_of(const Batch& batch) {
  std::vector<std::int32_t> pages;
  for (const BatchSeq& seq : batch.seqs)
    pages.insert(pages.end(), {seq.first_row, seq.rows, seq.base, seq.chain, seq.state_page});
  return pages;
}

// Lists the rows of one sequence.
class SeqLister {
 public:
  SeqLister(StateProgram& to, const Batch& batch, const BatchSeq& seq, const StateLayer& states)
      : to_(to), places_(batch, seq, states), base_(seq.base) {}

  void run() {
    for (std::int32_t place = 0; place < places_.rows(); ++place) list_tokens(place);
    list_chain();
    list_tree();
    list_tail();
    for (std::int32_t place = 0; place < places_.rows(); ++place)
      if (const std::int32_t item = places_.item(place); item >= 0)
        to_.items.add(places_.first_row() + place,
                      places_.page_of_tree() * to_.counts.items + item);
  }

 private:
  std::uint32_t row(std::int32_t place) const {
    return coded(StateProgram::kOfRow, places_.first_row() + place);
  }
  std::uint32_t token(std::int32_t place) const {
    const std::int32_t position = base_ + place, start = base_ - places_.stored();
    if (place >= 0) return row(place);
    if (position < 0) return 0;
    const std::int64_t page = places_.page(), kept = to_.counts.taps - 1;
    if (position < start)
      return coded(StateProgram::kOfTail, page * kept + kept - (start - position));
    return coded(StateProgram::kOfItem, page * to_.counts.items + position - start);
  }
  void list_tokens(std::int32_t place) {
    std::vector<std::uint32_t> tokens(at(to_.counts.taps));
    std::int32_t from = place;
    for (auto it = tokens.rbegin(); it != tokens.rend(); ++it) {
      *it = token(from);
      from = places_.before(from);
    }
    to_.tokens.insert(to_.tokens.end(), tokens.begin(), tokens.end());
  }

  void emit(std::size_t path, std::uint32_t from) {
    const std::size_t count = to_.paths.size() - path;
    to_.before.push_back(count == 0 ? 0 : to_.paths.back());
    to_.rows.push_back({.path = static_cast<std::uint32_t>(path),
                        .count = static_cast<std::uint32_t>(count),
                        .from = from});
  }

  // Paths of rows of one block begin alike.
  void list_chain() {
    if (places_.has_state()) state_ = coded(StateProgram::kOfPage, places_.page());
    std::size_t path = to_.paths.size();
    for (std::int32_t i = 0; i < places_.stored(); ++i)
      to_.paths.push_back(coded(StateProgram::kOfItem, places_.page() * to_.counts.items + i));
    for (std::int32_t i = 0; i < places_.chain(); ++i) {
      emit(path, state_);
      to_.paths.push_back(row(i));
      if (!places_.completes_block(i)) continue;
      state_ = to_.rows.back().then = coded(StateProgram::kOfPage, places_.page() ^ 1);
      path = to_.paths.size();
    }
    chain_.assign(to_.paths.begin() + static_cast<std::ptrdiff_t>(path), to_.paths.end());
  }

  void list_tree() {
    const std::size_t first = to_.rows.size();
    std::vector<std::int32_t> last(at(places_.nodes()));
    for (std::int32_t node = 0; node < places_.nodes(); ++node)
      last[at(node)] = places_.last_of_block_before(places_.chain() + node);
    std::vector<std::uint32_t> made(last.size());
    for (std::int32_t node = 0; node < places_.nodes(); ++node) {
      const std::int32_t before = last[at(node)], place = places_.chain() + node;
      const std::size_t path = to_.paths.size();
      if (before < 0) to_.paths.insert(to_.paths.end(), chain_.begin(), chain_.end());
      for (const std::int32_t above : places_.nodes_above(place, before))
        to_.paths.push_back(row(places_.chain() + above));
      emit(path, before < 0 ? state_ : made[at(before)]);
      if (!places_.completes_block(place) || !std::ranges::count(last, node)) continue;
      to_.rows[first + at(node)].then = made[at(node)] = coded(StateProgram::kMade, to_.made++);
    }
  }

  // The inputs before the block of the tree, where the chain begins it.
  void list_tail() {
    const std::int64_t kept = to_.counts.taps - 1;
    if (places_.page_of_tree() == places_.page()) return;
    for (std::int32_t back = 1; back <= kept; ++back) {
      const std::uint32_t from = token(places_.start_of_tree() - back);
      to_.tails[(from >> 30U) - 1].add(from & 0x3fffffffU,
                                       places_.page_of_tree() * kept + kept - back);
    }
  }

  StateProgram& to_;
  SeqStates places_;
  std::int32_t base_;
  std::uint32_t state_ = 0;           // before the block at hand
  std::vector<std::uint32_t> chain_;  // tokens of it behind the chain
};

}  // namespace

StateCounts counts_of(const StateLayer& states) {
  return {.items = states.items(), .taps = states.shape.taps};
}

bool StateProgram::is_of(const Batch& batch, const StateCounts& of) const {
  return counts == of && position == batch.position && mask == batch.mask &&
         pages == pages_of(batch);
}

StateProgram make_state_program(const Batch& batch, const StateLayer& states) {
  StateProgram made;
  made.counts = counts_of(states);
  made.position = batch.position;
  made.mask = batch.mask;
  made.pages = pages_of(batch);
  for (const BatchSeq& seq : batch.seqs) {
    made.seqs.push_back(
        {static_cast<std::uint32_t>(seq.first_row), static_cast<std::uint32_t>(seq.rows)});
    SeqLister(made, batch, seq, states).run();
  }
  return made;
}

std::vector<KeepStage> keep_stages(const Walk& walk, const Batch& batch, const StateLayer& states) {
  std::vector<KeepStage> stages(1);
  const std::int64_t items = states.items(), kept = states.shape.taps - 1;
  for (std::size_t s = 0; s < walk.seqs.size(); ++s) {
    const BatchSeq& seq = batch.seqs[s];
    const SeqStates places(batch, seq, states);
    std::int64_t page = places.page_of_tree(), start = seq.base + places.start_of_tree();
    const std::int64_t nodes_page = page, root = seq.base + seq.chain - start;
    std::int64_t item = root;
    std::size_t stage = 0;
    const auto complete = [&] {
      const std::int64_t next = page ^ 1;
      stages[stage].blocks.push_back({static_cast<std::uint32_t>(page), start == 0 ? 0U : 1U,
                                      static_cast<std::uint32_t>(next)});
      for (std::int64_t back = 1; back <= kept; ++back)
        stages[stage].tails.add(page * items + kStateTokens - back, next * kept + kept - back);
      page = next;
      start += kStateTokens;
      item = 0;
      if (++stage == stages.size()) stages.emplace_back();
    };
    for (const std::int32_t node : walk.seqs[s].path) {
      if (item == kStateTokens) complete();
      const std::int64_t from = nodes_page * items + root + node, to = page * items + item;
      if (from != to) stages[stage].items.add(from, to);
      ++item;
    }
    if (item == kStateTokens) complete();
  }
  return stages;
}

}  // namespace foretoken
