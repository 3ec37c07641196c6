#include "text/dialogue/answer_parts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"

namespace foretoken {

void AnswerParts::append(AnswerPart::Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (parts_.empty() || parts_.back().kind != kind) parts_.push_back({.kind = kind, .text = {}});
  parts_.back().text += text;
}

void AnswerParts::begin_call(std::string name, std::string id) {
  parts_.push_back(
      {.kind = AnswerPart::Kind::kCall, .text = {}, .name = std::move(name), .id = std::move(id)});
  ++calls_;
  call_is_open_ = true;
}

void AnswerParts::arguments(std::string_view json) {
  DCHECK(call_is_open_) << "arguments of no call";
  parts_.back().text += json;
}

void AnswerParts::open_reasoning(std::size_t from) {
  if (!reasoning_.empty() && reasoning_.back().to == from) {
    reasoning_.back().to = std::numeric_limits<std::size_t>::max();
    return;
  }
  reasoning_.push_back({from, std::numeric_limits<std::size_t>::max()});
}

void AnswerParts::close_reasoning(std::size_t to) {
  if (!reasoning_.empty()) reasoning_.back().to = std::min(reasoning_.back().to, to);
}

bool AnswerParts::is_reasoning(std::size_t byte) const {
  const auto next =
      std::upper_bound(reasoning_.begin(), reasoning_.end(), byte,
                       [](std::size_t at, const Span& span) { return at < span.from; });
  return next != reasoning_.begin() && byte < std::prev(next)->to;
}

}  // namespace foretoken
