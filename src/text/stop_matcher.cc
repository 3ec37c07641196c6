#include "text/stop_matcher.h"

#include <utility>

namespace foretoken {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (std::size_t i = 0; i < stops_.size(); ++i)
    if (!stops_[i].empty()) add(stops_[i], static_cast<std::int32_t>(i));
  link();
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
    : stops_(std::move(stops)), trim_(trim) {}

StopScan StopMatcher::push(std::string_view text) {
  if (stops_ == nullptr) return {std::string(text), std::nullopt};
  for (const char byte : text) {
    held_ += byte;
    node_ = stops_->step(node_, byte);
    const std::int32_t stop = stops_->node(node_).stop;
    if (stop < 0) continue;
    if (trim_ == StopTrim::kTrim) held_.resize(held_.size() - stops_->text(stop).size());
    node_ = 0;
    return {std::exchange(held_, {}), stop};
  }
  const auto depth = static_cast<std::size_t>(stops_->node(node_).depth);
  std::string held = held_.substr(held_.size() - depth);
  held_.resize(held_.size() - depth);
  return {std::exchange(held_, std::move(held)), std::nullopt};
}

std::string StopMatcher::finish() {
  node_ = 0;
  return std::exchange(held_, {});
}

bool StopMatcher::would_match(std::string_view text) const {
  if (stops_ == nullptr) return false;
  std::int32_t node = node_;
  for (const char byte : text) {
    node = stops_->step(node, byte);
    if (stops_->node(node).stop >= 0) return true;
  }
  return false;
}

}  // namespace foretoken
