#include "server/chat/thoughts_first.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::size_t kMostBreaks = 2;  // between the thought and the answer

std::size_t leading_breaks(std::string_view text) {
  return std::min(text.find_first_not_of('\n'), text.size());
}

// Whether the token may hold the end of `mark` and text behind it.
bool goes_beyond(std::string_view piece, std::string_view mark) {
  for (std::size_t end = piece.find(mark.back()); end != std::string_view::npos;
       end = piece.find(mark.back(), end + 1)) {
    const std::string_view head = piece.substr(0, end + 1);
    const bool ends_mark = head.size() < mark.size() ? mark.ends_with(head) : head.ends_with(mark);
    if (ends_mark && end + 1 < piece.size()) return true;
  }
  return false;
}

void set_bit(std::vector<std::uint32_t>& words, Token token, bool value) {
  const std::uint32_t bit = 1U << (at(token) % 32);
  std::uint32_t& word = words[at(token) / 32];
  word = value ? word | bit : word & ~bit;
}

bool has_bit(const std::vector<std::uint32_t>& words, Token token) {
  return (words[at(token) / 32] >> (at(token) % 32) & 1U) != 0;
}

}  // namespace

const std::string ThoughtsFirst::kNone;

ThoughtsFirst::ThoughtsFirst(std::shared_ptr<const ThoughtsFirstParts> parts)
    : parts_(std::move(parts)),
      at_(parts_->place.begins_inside ? At::kInside : At::kOpening),
      meter_(*parts_->place.style, true),
      answer_(at_ == At::kOpening ? std::make_unique<GrammarConstraint>(parts_->answer) : nullptr) {
}

bool ThoughtsFirst::may_open(std::string_view text) const {
  const std::string_view left = unopened();
  if (text.empty()) return false;
  if (left.starts_with(text)) return true;
  if (!text.starts_with(left)) return false;
  return may_be_thought(text.substr(left.size()));
}

bool ThoughtsFirst::may_be_thought(std::string_view text) const {
  ThoughtMeter meter = meter_;
  const std::string behind = meter.push(text);
  return !meter.is_over() || may_follow(behind, 0);
}

bool ThoughtsFirst::may_follow(std::string_view text, std::size_t breaks) const {
  const std::size_t more = leading_breaks(text);
  if (breaks + more > kMostBreaks) return false;
  text.remove_prefix(more);
  return text.empty() || parts_->answer->grammar->start().advance_text(text);
}

bool ThoughtsFirst::allows(Token token) {
  switch (at_) {
    case At::kOpening:
      return may_open(piece(token)) || (answer_ != nullptr && answer_->allows(token));
    case At::kInside:
      return may_be_thought(piece(token));
    case At::kBehind: {
      const std::string_view text = piece(token);
      return answer_->allows(token) || (text.starts_with('\n') && may_follow(text, breaks_));
    }
    case At::kAnswer:
      break;
  }
  return answer_->allows(token);
}

std::span<const std::uint32_t> ThoughtsFirst::allowed() {
  if (at_ == At::kAnswer) return answer_->allowed();
  mask_.assign((at(parts_->vocab) + 31) / 32, 0);
  if (at_ == At::kInside) {
    const bool may_end = meter_.half_mark() > 0 || !parts_->closers.empty();
    bool bars = false;
    mask_.assign(mask_.size(), ~0U);
    for (const Token token : may_end ? std::span(parts_->closers) : std::span<const Token>()) {
      if (may_be_thought(piece(token))) continue;
      set_bit(mask_, token, false);
      bars = true;
    }
    return bars ? std::span<const std::uint32_t>(mask_) : std::span<const std::uint32_t>();
  }
  if (answer_ != nullptr) {
    const auto words = answer_->allowed();
    std::copy_n(words.begin(), std::min(words.size(), mask_.size()), mask_.begin());
  }
  if (at_ == At::kOpening) {
    for (Token token = 0; token < parts_->vocab; ++token)
      if (may_open(piece(token))) set_bit(mask_, token, true);
  } else {
    for (const Token token : parts_->breaks)
      if (!has_bit(mask_, token) && may_follow(piece(token), breaks_)) set_bit(mask_, token, true);
  }
  return mask_;
}

// More than may come is no fault: see TokenConstraint.
int ThoughtsFirst::count_allowed(std::span<const Token> tokens) {
  const auto all = static_cast<int>(tokens.size());
  if (tokens.empty() || at_ == At::kAnswer) return answer_ ? answer_->count_allowed(tokens) : all;
  if (!allows(tokens.front())) return 0;
  if (at_ == At::kInside) return all;
  return std::max(1, answer_ != nullptr ? answer_->count_allowed(tokens) : 1);
}

void ThoughtsFirst::advance(Token token) {
  const std::string_view text = piece(token), left = unopened();
  switch (at_) {
    case At::kOpening:
      if (!text.empty() && text.starts_with(left)) {
        answer_.reset();
        at_ = At::kInside;
        if (text.size() > left.size()) think(text.substr(left.size()), token);
        return;
      }
      if (answer_ != nullptr && !answer_->allows(token)) answer_.reset();
      if (answer_ != nullptr) answer_->advance(token);
      if (!text.empty() && left.starts_with(text))
        opened_ += text.size();
      else
        at_ = At::kAnswer;
      return;
    case At::kInside:
      return think(text, token);
    case At::kBehind:
      if (!answer_->allows(token) && text.starts_with('\n')) {
        const std::size_t more = leading_breaks(text);
        breaks_ += more;
        return begin_answer(text.substr(more), token);
      }
      at_ = At::kAnswer;
      break;
    case At::kAnswer:
      break;
  }
  answer_->advance(token);
}

void ThoughtsFirst::think(std::string_view text, Token last) {
  const std::string behind = meter_.push(text);
  if (!meter_.is_over()) return;
  at_ = At::kBehind;
  breaks_ = leading_breaks(behind);
  answer_ = std::make_unique<GrammarConstraint>(parts_->answer);
  begin_answer(std::string_view(behind).substr(breaks_), last);
}

void ThoughtsFirst::begin_answer(std::string_view text, Token last) {
  if (text.empty()) return;
  at_ = At::kAnswer;
  answer_->take(text, last);
}

std::vector<Token> ThoughtsFirst::foreseen() {
  return answer_ != nullptr ? answer_->foreseen() : std::vector<Token>();
}

std::shared_ptr<const ConstraintSource> behind_thoughts(std::shared_ptr<const GrammarParts> answer,
                                                        const ThoughtPlace& place,
                                                        std::int64_t vocab) {
  if (place.style == nullptr || (!place.begins_inside && !place.may_open))
    return std::make_shared<const GrammarSource>(std::move(answer));
  ThoughtsFirstParts parts{
      .answer = std::move(answer), .place = place, .vocab = vocab, .closers = {}, .breaks = {}};
  for (Token token = 0; token < vocab; ++token) {
    const std::string_view piece = parts.answer->tokenizer.piece(token);
    if (goes_beyond(piece, place.style->close)) parts.closers.push_back(token);
    if (piece.starts_with('\n')) parts.breaks.push_back(token);
  }
  return std::make_shared<const ThoughtsFirstSource>(std::move(parts));
}

}  // namespace foretoken
