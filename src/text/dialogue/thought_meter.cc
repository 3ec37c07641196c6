#include "text/dialogue/thought_meter.h"

#include <utility>

#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

constexpr std::size_t kMaxWhite = 4096;  // before the mark of the beginning

}  // namespace

ThoughtMeter::ThoughtMeter(const ReasoningStyle& style, bool begins_inside)
    : style_(&style), begins_inside_(begins_inside) {
  ends_.push_back(style.close);
  ends_.insert(ends_.end(), style.interrupts.begin(), style.interrupts.end());
}

std::string ThoughtMeter::push(std::string_view text) {
  if (is_over_) return std::string(text);
  held_ += text;
  ++tokens_;
  if (!is_opened_) {
    const std::size_t white = leading_white(held_);
    const Begins begins = begins_with(std::string_view(held_).substr(white), style_->open);
    if (begins == Begins::kMaybe && white < kMaxWhite) return {};
    if (begins != Begins::kYes && !begins_inside_) return end_at(0);
    is_opened_ = true;
    if (begins == Begins::kYes) {
      held_.erase(0, white + style_->open.size());
      tokens_ = 0;
    }
  }
  const FoundMark end = find_mark(held_, ends_);
  if (end.at != std::string_view::npos)
    return end_at(end.at + (end.which == 0 ? style_->close.size() : 0));
  held_.erase(0, held_.size() - unfinished_mark(held_, ends_));
  return {};
}

std::string ThoughtMeter::end_at(std::size_t bytes) {
  is_over_ = true;
  return std::exchange(held_, {}).substr(bytes);
}

}  // namespace foretoken
