#include "engine/sequence_pages.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "batch/state_blocks.h"

namespace foretoken {
namespace {

std::string check_sequence(const Sequence& s, const SeqTable* table) {
  const std::string name = "sequence in slot " + std::to_string(s.slot);
  const auto slot = at(s.slot);
  if (s.stored < 0 || s.stored >= s.size())
    return name + " stores " + std::to_string(s.stored) + " of " + std::to_string(s.size()) +
           " tokens";
  if (static_cast<int>(s.pages.size()) < pages_for(s.stored))
    return name + " has too few pages for what it stores";
  if (s.in_flight == 0 && s.most_stored != s.stored)
    return name + " has no step in flight and expects one to store";
  if (table == nullptr) return {};
  if (table->length[slot] != s.stored)
    return name + " stores " + std::to_string(s.stored) + " tokens, the table says " +
           std::to_string(table->length[slot]);
  if (!std::equal(s.pages.begin(), s.pages.end(), table->pages[slot].begin(),
                  table->pages[slot].end(),
                  [](const Page& page, PageId id) { return page && page.id() == id; }))
    return name + " holds other pages than the table says";
  return {};
}

}  // namespace

std::vector<Page> SequencePages::match(const Sequence& s) {
  const auto usable = at(s.reusable_tokens());
  return cache_.match(std::span(s.tokens).first(usable), s.hashes);
}

SequencePages::Prospect SequencePages::look_up(Sequence& s) const {
  const int usable = s.reusable_tokens() / kPageTokens;
  s.cached_pages_guess = cache_.peek(s.hashes, usable, s.cached_pages_guess);
  const int pages = cache_.with_state(s.hashes, s.cached_pages_guess);
  return {.pages = pages, .evictable = cache_.evictable_of(s.hashes, pages)};
}

int SequencePages::branch_of(const Sequence& s) const {
  if (!cache_.needs_states()) return 0;
  const int usable = s.reusable_tokens() / kPageTokens;
  const int cached = cache_.peek(s.hashes, usable, s.cached_pages_guess) * kPageTokens;
  return state_block(cached) * kStateTokens;
}

void SequencePages::touch(const Sequence& s, const Prospect& prospect) {
  cache_.touch(s.hashes, prospect.pages);
}

void SequencePages::open(Sequence& s, SeqSlot slot, std::vector<Page> matched) {
  CHECK(!s.is_running()) << "a running sequence was opened again";
  s.slot = slot;
  s.pages = std::move(matched);
  s.published_pages = static_cast<int>(s.pages.size());
  s.entered(s.published_pages * kPageTokens);
  list(s, 0, s.pages.size());
}

// Tells the next step which pages it has in these places.
void SequencePages::list(const Sequence& s, std::size_t first, std::size_t end) {
  if (first == end) return;
  SlotChange& change = changes_.emplace_back();
  change.kind = SlotChange::Kind::kPages;
  change.slot = s.slot;
  change.first_page = static_cast<std::int32_t>(first);
  for (std::size_t i = first; i < end; ++i) change.pages.push_back(s.pages[i].id());
}

void SequencePages::plan_states(Sequence& s, int stored_before, StepEntry& entry) {
  if (!cache_.needs_states() || state_block(stored_before) == state_block(s.most_stored)) return;
  Page snapshot = cache_.take_state();
  if (!snapshot) return;
  entry.snapshot = snapshot.id();
  s.snapshots.push_back(std::move(snapshot));
}

void SequencePages::take_states(Sequence& s, int tokens) {
  CHECK(!s.snapshots.empty()) << "a step wrote states that were not planned";
  Page snapshot = std::move(s.snapshots.front());
  s.snapshots.pop_front();
  if (tokens > 0) s.states = {.snapshot = std::move(snapshot), .tokens = tokens};
}

bool SequencePages::grow(Sequence& s, int tokens) {
  const int missing = pages_for(tokens) - static_cast<int>(s.pages.size());
  if (missing <= 0) return true;
  if (pool_.num_free() < missing) cache_.evict(missing - pool_.num_free());
  if (pool_.num_free() < missing) return false;
  const std::size_t before = s.pages.size();
  for (int i = 0; i < missing; ++i) s.pages.push_back(*pool_.take());
  list(s, before, s.pages.size());
  return true;
}

void SequencePages::publish(Sequence& s) {
  const auto text = std::span<const Token>(s.tokens).first(at(std::min(s.stored, s.size())));
  const int full = static_cast<int>(text.size()) / kPageTokens;
  const int before = s.published_pages;
  s.hashes.extend(text);
  cache_.publish(text, s.hashes, s.pages, before);
  s.published_pages = full;
  // Of a long prompt one state in each chunk would displace those of others.
  if (s.is_rooted || s.states.tokens == s.branch) publish_states(s);
  if (before < full) list(s, at(before), at(full));
}

// States behind what was cut off at the end of the text are worth nothing.
void SequencePages::publish_states(Sequence& s) {
  if (!s.states.snapshot || s.states.tokens > s.published_pages * kPageTokens) return;
  const Page& last = s.pages[at(s.states.tokens / kPageTokens - 1)];
  cache_.keep_state(last.id(), std::exchange(s.states, {}).snapshot);
}

void SequencePages::close(Sequence& s) {
  publish(s);
  publish_states(s);
  s.pages.clear();
  s.published_pages = 0;
}

int SequencePages::used_tokens() const {
  return (pool_.num_pages() - pool_.num_free()) * kPageTokens - cached_tokens();
}

int SequencePages::cached_tokens() const { return cache_.evictable() * kPageTokens; }

std::string SequencePages::check_integrity(const std::vector<const Sequence*>& running,
                                           const SeqTable* table) const {
  if (auto fault = pool_.check_integrity(); !fault.empty()) return fault;
  if (auto fault = cache_.check_integrity(); !fault.empty()) return fault;
  std::vector<int> handles(at(pool_.num_pages()), 0);
  int excess = -cache_.num_pages();  // handles that neither a sequence nor the cache accounts for
  for (const Sequence* sequence : running) {
    if (auto fault = check_sequence(*sequence, table); !fault.empty()) return fault;
    for (const Page& page : sequence->pages) ++handles[at(page.id())];
    excess -= static_cast<int>(sequence->pages.size());
  }
  for (PageId page = 0; page < pool_.num_pages(); ++page) {
    excess += pool_.owners(page);
    const int held = handles[at(page)];
    if (pool_.owners(page) < held || pool_.owners(page) > held + 1)
      return "page " + std::to_string(page) + " has " + std::to_string(pool_.owners(page)) +
             " owners, " + std::to_string(held) + " of them running sequences";
  }
  if (excess != 0) return std::to_string(excess) + " page handles belong to nobody";
  return {};
}

}  // namespace foretoken
