#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace foretoken {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (std::size_t i = 0; i < stops_.size(); ++i)
    if (!stops_[i].empty()) add(stops_[i], static_cast<std::int32_t>(i));
  link();
}

StopStrings::StopStrings(std::vector<std::string> stops, std::vector<std::string> expressions,
                         std::shared_ptr<const StopExpressions> compiled)
    : StopStrings(std::move(stops)) {
  num_expressions_ = expressions.size();
  stops_.insert(stops_.end(), expressions.begin(), expressions.end());
  expressions_ = std::move(compiled);
}

std::size_t StopStrings::bytes_per_text() const {
  constexpr std::size_t kPerState = 48;
  return expressions_ == nullptr ? 0 : kPerState * expressions_->states();
}

std::int32_t StopStrings::find_child(std::int32_t parent, char byte) const {
  std::int32_t child = node(parent).child;
  while (child >= 0 && node(child).byte != byte) child = node(child).sibling;
  return child;
}

std::int32_t StopStrings::step(std::int32_t from, char byte) const {
  while (true) {
    const std::int32_t child = find_child(from, byte);
    if (child >= 0) return child;
    if (from == 0) return 0;
    from = node(from).fail;
  }
}

void StopStrings::add(std::string_view stop, std::int32_t index) {
  std::int32_t at = 0;
  for (const char byte : stop) {
    std::int32_t child = find_child(at, byte);
    if (child < 0) {
      child = static_cast<std::int32_t>(nodes_.size());
      Node& parent = nodes_[static_cast<std::size_t>(at)];
      const Node added{.sibling = parent.child, .depth = parent.depth + 1, .byte = byte};
      parent.child = child;
      nodes_.push_back(added);
    }
    at = child;
  }
  Node& last = nodes_[static_cast<std::size_t>(at)];
  if (last.stop < 0) last.stop = index;
}

// Breadth first, so that the node of a shorter suffix is finished before it is needed.
void StopStrings::link() {
  std::vector<std::int32_t> queue = {0};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::int32_t parent = queue[at];
    for (std::int32_t id = node(parent).child; id >= 0; id = node(id).sibling) {
      Node& linked = nodes_[static_cast<std::size_t>(id)];
      if (parent != 0) linked.fail = step(node(parent).fail, linked.byte);
      if (linked.stop < 0) linked.stop = node(linked.fail).stop;
      queue.push_back(id);
    }
  }
}

StopMatcher::StopMatcher(std::shared_ptr<const StopStrings> stops, StopTrim trim)
    : stops_(std::move(stops)), trim_(trim) {
  if (stops_ != nullptr && stops_->expressions_ != nullptr) search_.emplace(*stops_->expressions_);
}

StopMatcher::Found StopMatcher::find(std::string_view text) {
  Found found;
  for (std::size_t i = 0; i < text.size() && found.stop < 0; ++i) {
    node_ = stops_->step(node_, text[i]);
    found.stop = stops_->node(node_).stop;
    if (found.stop >= 0) found = {found.stop, i + 1, stops_->text(found.stop).size()};
  }
  if (!search_) return found;
  const auto match = search_->push(text);
  if (!match) return found;
  const bool is_first = found.stop < 0 || match->end < found.end ||
                        (match->end == found.end && match->size > found.size);
  if (!is_first) return found;
  return {static_cast<std::int32_t>(stops_->strings()) + match->expression, match->end,
          match->size};
}

StopScan StopMatcher::push(std::string_view text) {
  if (stops_ == nullptr) return {std::string(text), std::nullopt};
  const std::size_t before = held_.size();
  held_ += text;
  const Found found = find(text);
  if (found.stop >= 0) {
    held_.resize(before + found.end);
    if (trim_ == StopTrim::kTrim) held_.resize(character_at(held_.size() - found.size));
    node_ = 0;
    return {std::exchange(held_, {}), found.stop};
  }
  const auto depth = static_cast<std::size_t>(stops_->node(node_).depth);
  const std::size_t certain =
      character_at(held_.size() - std::max(depth, search_ ? search_->held() : std::size_t{0}));
  std::string held = held_.substr(certain);
  held_.resize(certain);
  return {std::exchange(held_, std::move(held)), std::nullopt};
}

// Where the character that has this byte begins: a match that is too long to be held back whole may
// be cut anywhere.
std::size_t StopMatcher::character_at(std::size_t byte) const {
  if (!search_) return byte;
  while (byte > 0 && byte < held_.size() &&
         (static_cast<unsigned char>(held_[byte]) & 0xC0) == 0x80)
    --byte;
  return byte;
}

std::string StopMatcher::finish() {
  node_ = 0;
  return std::exchange(held_, {});
}

bool StopMatcher::would_match(std::string_view text) const {
  if (stops_ == nullptr || text.empty()) return false;
  StopMatcher copy = *this;
  return copy.find(text).stop >= 0;
}

}  // namespace foretoken
