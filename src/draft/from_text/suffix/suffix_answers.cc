#include "draft/from_text/suffix/suffix_answers.h"

#include <algorithm>
#include <new>
#include <utility>

namespace foretoken {

void SuffixAnswers::add(std::uint64_t scope, std::vector<Token> tokens) noexcept {
  const auto size = static_cast<std::int64_t>(tokens.size());
  if (most_ == 0 || size < 2 || waiting_tokens_ + size > spare_) return;
  try {
    waiting_.push_back({scope, std::move(tokens)});
    waiting_tokens_ += size;
  } catch (const std::bad_alloc&) {  // only speed is lost
  }
}

SuffixTrees::Place SuffixAnswers::root_of(std::uint64_t scope) const {
  const auto found = scopes_.find(scope);
  return found == scopes_.end() ? SuffixTrees::Place{} : trees_.place_of(found->second.root);
}

bool SuffixAnswers::is_full() const {
  return kept_.size() + (waiting_.empty() ? 0 : 1) > most_ || !trees_.has_room_for(2 * spare_);
}

// What is being read is in nobody's way for long; until it has ended, nothing is taken out, because
// it may stand on what another text has left.
int SuffixAnswers::work(int tokens) {
  while (tokens > 0) {
    if (!is_reading_ && !kept_.empty() && is_full()) {
      take_out_oldest(tokens);
      continue;
    }
    if (!is_reading_ && !start_reading()) break;
    const std::vector<Token>& text = waiting_.front().tokens;
    const SuffixTrees::TextId id = kept_.back().text;
    bool has_room = true;
    for (; tokens > 0 && has_room && read_ < text.size(); --tokens) {
      has_room = trees_.append(id, text[read_]);
      if (has_room) ++read_;
    }
    if (has_room && read_ < text.size()) break;
    trees_.end(id);
    is_reading_ = false;
    waiting_tokens_ -= static_cast<std::int64_t>(text.size());
    waiting_.pop_front();
  }
  return tokens;
}

// False: nothing waits, or there is no node for it.
bool SuffixAnswers::start_reading() {
  if (waiting_.empty()) return false;
  const std::uint64_t number = waiting_.front().scope;
  kept_.push_back({number, 0});
  try {
    Scope& scope = scopes_[number];
    if (scope.root == 0) scope.root = trees_.plant();
    if (scope.root == 0) {
      kept_.pop_back();
      give_up_if_bare(number);
      return false;
    }
    kept_.back().text = trees_.begin(scope.root);
    ++scope.answers;
  } catch (...) {
    kept_.pop_back();
    give_up_if_bare(number);
    throw;
  }
  is_reading_ = true;
  read_ = 0;
  return true;
}

void SuffixAnswers::take_out_oldest(int& tokens) {
  constexpr int kAtOnce = 64;
  const Kept oldest = kept_.front();
  tokens -= kAtOnce;
  if (!trees_.take_out(oldest.text, kAtOnce)) return;
  trees_.release(oldest.text);
  kept_.pop_front();
  --scopes_.at(oldest.scope).answers;
  give_up_if_bare(oldest.scope);
}

void SuffixAnswers::give_up_if_bare(std::uint64_t number) {
  const auto scope = scopes_.find(number);
  if (scope == scopes_.end() || scope->second.answers > 0) return;
  if (scope->second.root != 0) trees_.fell(scope->second.root, 1);
  scopes_.erase(scope);
}

void SuffixAnswers::forget() {
  waiting_.clear();
  waiting_tokens_ = 0;
  is_reading_ = false;
  kept_.clear();
  scopes_.clear();
}

}  // namespace foretoken
