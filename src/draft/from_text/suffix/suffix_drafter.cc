#include "draft/from_text/suffix/suffix_drafter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

// Tokens that are read in a step, or nodes that are cleared away, beside as many as the step
// computes: either takes a fraction of a microsecond.
constexpr int kWorkPerStep = 2048;
constexpr int kReadAtOnce = 256;    // of a prediction, before the first step
constexpr std::int64_t kSpare = 8;  // this part of the memory is left to running texts

std::span<const Token> last(std::span<const Token> tokens, int count) {
  return tokens.last(std::min(tokens.size(), at(count)));
}

}  // namespace

SuffixDrafter::SuffixDrafter(const SuffixOptions& options, int nodes, int num_slots,
                             std::shared_ptr<const DraftPace> pace)
    : options_(options),
      nodes_(nodes),
      trees_(options.capacity, options.max_depth),
      answers_(trees_, options.isolation == DraftIsolation::kRequest ? 0 : options.max_answers,
               options.capacity / kSpare),
      growth_(options.shape),
      offers_(num_slots),
      pace_(std::move(pace)),
      sequences_(at(num_slots)) {}

DraftNeeds SuffixDrafter::needs() const { return {.taps = {}, .max_nodes = nodes_}; }

// ---- requests come and go

void SuffixDrafter::open(SeqSlot slot, const DraftRequest& request) {
  offers_.open(slot);
  if (sequences_.size() <= at(slot)) sequences_.resize(at(slot) + 1);
  felled_.reserve(felled_.size() + 2 * sequences_.size());
  unread_.reserve(sequences_.size());
  Sequence& sequence = sequences_[at(slot)];
  CHECK(!sequence.is_open) << "slot " << slot << " was opened twice";
  sequence.scope = options_.isolation == DraftIsolation::kShared ? 0 : request.scope;
  sequence.in_answers.start({});
  sequence.in_prediction.start({});
  sequence.answer.clear();
  sequence.offers_prediction = false;
  sequence.predictions = {};
  const bool is_read = !options_.only_predictions || !request.prediction.empty();
  if (is_read && request.wish.allows_drafts()) {
    try {
      start_texts(sequence, request);
    } catch (...) {
      drop(sequence.own);
      drop(sequence.prediction);
      throw;
    }
    unread_.push_back(slot);
  }
  sequence.is_open = true;
}

void SuffixDrafter::start_texts(Sequence& sequence, const DraftRequest& request) {
  start(sequence.own, {}, request.tokens);
  const auto end = last(request.tokens, trees_.max_depth());
  if (!request.prediction.empty()) {
    // As if the prediction were what the prompt went on with.
    const auto prompt =
        std::span(request.tokens).first(std::min(request.prompt_tokens, request.tokens.size()));
    start(sequence.prediction, last(prompt, trees_.max_depth()), request.prediction);
    if (sequence.prediction.root != 0) {
      int tokens = kReadAtOnce + trees_.max_depth();
      read(sequence.prediction, tokens);
      sequence.in_prediction.start(trees_.place_of(sequence.prediction.root));
      for (const Token token : end) trees_.advance(sequence.in_prediction, token);
    }
  }
  for (const Token token : end) read_answers_of(sequence, token);
}

void SuffixDrafter::start(Reading& reading, std::span<const Token> before,
                          const SharedTokens& tokens) {
  const SuffixTrees::Id root = trees_.plant();
  if (root == 0) return;
  try {
    reading.text = trees_.begin(root);
    reading.tokens.start(before, tokens);
    reading.read = 0;
  } catch (...) {
    trees_.fell(root, 1);
    throw;
  }
  reading.root = root;
}

void SuffixDrafter::close(SeqSlot slot) {
  Sequence& sequence = sequences_[at(slot)];
  sequence.is_open = false;
  drop(sequence.own);
  drop(sequence.prediction);
  answers_.add(sequence.scope, std::move(sequence.answer));
  sequence.answer.clear();
  std::erase(unread_, slot);
}

// open() has made room in felled_.
void SuffixDrafter::drop(Reading& reading) {
  if (reading.root != 0) felled_.push_back({std::exchange(reading.root, 0), reading.text});
  reading.tokens.drop();
  reading.read = 0;
}

void SuffixDrafter::forget() {
  felled_.clear();
  answers_.forget();
  trees_.clear();
}

// ---- what was committed

void SuffixDrafter::observe(const CommittedRows& rows) {
  int computed = 0;
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const WalkSeq& found = rows.walk.seqs[i];
    computed += rows.batch.seqs[i].chain;
    if (!found.path.empty()) commit(found.slot, found.emitted);
  }
  work(kWorkPerStep + computed);
}

void SuffixDrafter::commit(SeqSlot slot, std::span<const SampledToken> sampled) {
  Sequence& sequence = sequences_[at(slot)];
  const TextOffers::Outcome outcome = offers_.learn(slot, sampled);
  if (sequence.offers_prediction) {
    sequence.predictions.add({.proposed = outcome.offered, .accepted = outcome.accepted});
  }
  sequence.offers_prediction = false;
  for (const SampledToken& each : sampled) {
    const Token token = each.token;
    if (options_.max_answers > 0) sequence.answer.push_back(token);
    if (sequence.own.root == 0) continue;
    if (!sequence.own.is_read()) {
      sequence.own.tokens.push_back(token);
    } else if (!trees_.append(sequence.own.text, token)) {
      sequence.own.tokens.start(std::span(&token, 1), {});
      sequence.own.read = 0;
      if (std::ranges::find(unread_, slot) == unread_.end()) unread_.push_back(slot);
    }
    if (sequence.prediction.root != 0) trees_.advance(sequence.in_prediction, token);
    read_answers_of(sequence, token);
  }
}

// Its scope may have been forgotten since, or have answers only now.
void SuffixDrafter::read_answers_of(Sequence& sequence, Token token) {
  SuffixTrees::Cursor& cursor = sequence.in_answers;
  if (!trees_.exists(cursor.root())) cursor.start(answers_.root_of(sequence.scope));
  if (cursor.root().node != 0) trees_.advance(cursor, token);
}

// ---- reading and clearing away

// What is cleared away takes no more than half of the time from texts that wait to be read. Of
// these those come first that are soon read, so that long ones hold up their like only.
void SuffixDrafter::work(int tokens) {
  int clearing = unread_.empty() ? tokens : tokens / 2;
  tokens -= clearing;
  clear_away(clearing);
  tokens = answers_.work(tokens + std::max(clearing, 0));
  std::ranges::sort(unread_, {}, [&](SeqSlot slot) {
    const Sequence& sequence = sequences_[at(slot)];
    return sequence.own.left() + sequence.prediction.left();
  });
  std::erase_if(unread_, [&](SeqSlot slot) {
    Sequence& sequence = sequences_[at(slot)];
    const bool knows_prediction = read(sequence.prediction, tokens);
    return read(sequence.own, tokens) && knows_prediction;
  });
}

void SuffixDrafter::clear_away(int& tokens) {
  constexpr int kAtOnce = 64;
  for (; tokens > 0 && !felled_.empty(); tokens -= kAtOnce) {
    if (!trees_.fell(felled_.back().root, kAtOnce)) continue;
    trees_.release(felled_.back().text);
    felled_.pop_back();
  }
}

// True: there is nothing more to be read.
bool SuffixDrafter::read(Reading& reading, int& tokens) {
  if (reading.root == 0) return true;
  while (tokens > 0 && !reading.is_read()) {
    if (!trees_.append(reading.text, reading.tokens[reading.read])) return false;
    ++reading.read;
    --tokens;
  }
  if (!reading.is_read()) return false;
  reading.tokens.drop();
  reading.read = 0;
  return true;
}

// ---- trees

void SuffixDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                            DraftTrees& trees) {
  int left = options_.most_drafts;
  for (std::size_t n = 0; n < slots.size(); ++n) {
    const std::size_t i = (turn_ + n) % slots.size();
    Sequence& sequence = sequences_[at(slots[i])];
    const int most = std::min({limits[i].nodes - 1, limits[i].depth, nodes_ - 1, left});
    if (most <= 0 || sequence.own.root == 0) continue;
    std::array<SuffixGrowth::Source, 3> sources;
    std::size_t found = 0;
    const bool is_predicted = sequence.prediction.root != 0;
    if (is_predicted) sources[found++] = {&sequence.in_prediction, 0};
    if (sequence.own.is_read()) sources[found++] = {&trees_.end_of(sequence.own.text), 1};
    sources[found++] = {&sequence.in_answers, 0};
    const auto drafts = growth_.grow(trees_, std::span(sources).first(found), most);
    sequence.offers_prediction = is_predicted && growth_.source() == 0;
    offers_.offer(slots[i], drafts, *pace_, trees);
    left -= trees.size(slots[i]) - 1;
  }
  if (left <= 0) ++turn_;
}

}  // namespace foretoken
