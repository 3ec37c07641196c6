#include "text/dialogue/think_parser.h"

#include <utility>

#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

constexpr std::size_t kMaxBreaks = 4096;  // held back

std::size_t leading_breaks(std::string_view text) {
  return std::min(text.find_first_not_of('\n'), text.size());
}

}  // namespace

ThinkParser::ThinkParser(const ReasoningStyle& style, bool begins_inside,
                         std::unique_ptr<AnswerParser> rest)
    : style_(style), rest_(std::move(rest)), begins_inside_(begins_inside) {
  ends_.push_back(style.close);
  ends_.insert(ends_.end(), style.interrupts.begin(), style.interrupts.end());
}

void ThinkParser::push(std::string_view text, AnswerParts& out) {
  if (at_ == At::kRest && next_mark().empty()) return rest_->push(text, out);
  input_.erase(0, std::exchange(read_, 0));
  input_ += text;
  while (step(out)) {
  }
}

void ThinkParser::finish(Ending ending, AnswerParts& out) {
  if (at_ == At::kStart && style_.stays_text) {
    if (begins_inside_) rest_->push(style_.open, out);
    rest_->push(held(), out);
  } else if (at_ == At::kStart && begins_inside_) {
    out.open_reasoning(seen_);
    say(held(), out);
  } else if (at_ == At::kStart || at_ == At::kRest) {
    rest_->push(held(), out);
  } else if (at_ == At::kInside) {
    say(held(), out);
  }
  rest_->finish(ending, out);
}

bool ThinkParser::step(AnswerParts& out) {
  switch (at_) {
    case At::kStart:
      return read_start(out);
    case At::kInside:
      return read_inside(out);
    case At::kBehind:
      take(leading_breaks(held()));
      if (held().empty()) return false;
      at_ = At::kRest;
      return true;
    case At::kRest:
      return read_rest(out);
  }
  return false;
}

void ThinkParser::take(std::size_t bytes) {
  read_ += bytes;
  seen_ += bytes;
}

// The mark of the beginning may stand there, also where the prompt has opened the reasoning.
bool ThinkParser::read_start(AnswerParts& out) {
  const std::size_t white = leading_white(held());
  const Begins begins = begins_with(held().substr(white), style_.open);
  if (begins == Begins::kMaybe && white < kMaxBreaks) return false;
  at_ = At::kRest;
  if (style_.stays_text) {
    if (begins != Begins::kYes && begins_inside_) rest_->push(style_.open, out);
    return true;
  }
  if (begins == Begins::kYes) take(white + style_.open.size());
  if (begins == Begins::kYes || begins_inside_) {
    out.open_reasoning(begins == Begins::kYes ? seen_ - style_.open.size() : seen_);
    at_ = At::kInside;
  }
  return true;
}

bool ThinkParser::read_inside(AnswerParts& out) {
  const FoundMark end = find_mark(held(), ends_);
  if (end.at == std::string_view::npos) {
    const std::size_t certain = held().size() - unfinished_mark(held(), ends_);
    say(held().substr(0, certain), out);
    take(certain);
    return false;
  }
  say(held().substr(0, end.at), out);
  take(end.at + (end.which == 0 ? style_.close.size() : 0));
  out.close_reasoning(seen_);
  is_interrupted_ = end.which != 0;
  at_ = At::kBehind;
  return true;
}

// Reasoning that comes later begins at its mark, or behind what interrupted it.
bool ThinkParser::read_rest(AnswerParts& out) {
  const std::string_view mark = next_mark();
  const std::size_t found = mark.empty() ? std::string_view::npos : held().find(mark);
  const bool begins = found != std::string_view::npos;
  const std::size_t size = begins ? found : held().size() - unfinished_mark(held(), mark);
  rest_->push(held().substr(0, size), out);
  take(size);
  if (!begins) return false;
  const bool is_of_call = rest_->is_in_call();
  if (is_of_call || is_interrupted_) {
    rest_->push(mark, out);
    take(mark.size());
  }
  if (is_of_call) return true;
  out.open_reasoning(seen_);
  if (!is_interrupted_) take(mark.size());
  is_interrupted_ = false;
  at_ = At::kInside;
  return true;
}

void ThinkParser::say(std::string_view text, AnswerParts& out) {
  if (!has_said_) text.remove_prefix(leading_breaks(text));
  if (text.empty()) return;
  has_said_ = true;
  const std::size_t last = text.find_last_not_of('\n');
  if (last != std::string_view::npos) {
    out.reasoning(std::exchange(breaks_, {}));
    out.reasoning(text.substr(0, last + 1));
    text.remove_prefix(last + 1);
  }
  breaks_ += text;
  if (breaks_.size() > kMaxBreaks) out.reasoning(std::exchange(breaks_, {}));
}

}  // namespace foretoken
