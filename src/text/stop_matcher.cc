#include "text/stop_matcher.h"

#include "base/error.h"

namespace foretoken {

std::int32_t StopMatcher::Automaton::find_child(std::int32_t node, char byte) const {
  std::int32_t child = nodes[static_cast<std::size_t>(node)].child;
  while (child >= 0 && nodes[static_cast<std::size_t>(child)].byte != byte) {
    child = nodes[static_cast<std::size_t>(child)].sibling;
  }
  return child;
}

std::int32_t StopMatcher::Automaton::step(std::int32_t node, char byte) const {
  while (true) {
    const std::int32_t child = find_child(node, byte);
    if (child >= 0) return child;
    if (node == 0) return 0;
    node = nodes[static_cast<std::size_t>(node)].fail;
  }
}

void StopMatcher::Automaton::add(std::string_view stop, std::int32_t index) {
  std::int32_t node = 0;
  for (char byte : stop) {
    std::int32_t child = find_child(node, byte);
    if (child < 0) {
      child = static_cast<std::int32_t>(nodes.size());
      Node& parent = nodes[static_cast<std::size_t>(node)];
      const Node added{.sibling = parent.child, .depth = parent.depth + 1, .byte = byte};
      parent.child = child;
      nodes.push_back(added);
    }
    node = child;
  }
  Node& last = nodes[static_cast<std::size_t>(node)];
  if (last.stop < 0) last.stop = index;
}

// Breadth first, so that the node of a shorter suffix is finished before it is needed.
void StopMatcher::Automaton::link() {
  std::vector<std::int32_t> queue = {0};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::int32_t parent = queue[at];
    for (std::int32_t id = nodes[static_cast<std::size_t>(parent)].child; id >= 0;
         id = nodes[static_cast<std::size_t>(id)].sibling) {
      Node& node = nodes[static_cast<std::size_t>(id)];
      if (parent != 0) node.fail = step(nodes[static_cast<std::size_t>(parent)].fail, node.byte);
      if (node.stop < 0) node.stop = nodes[static_cast<std::size_t>(node.fail)].stop;
      queue.push_back(id);
    }
  }
}

StopMatcher::StopMatcher(const std::vector<std::string>& stops, StopTrim trim) : trim_(trim) {
  auto automaton = std::make_shared<Automaton>();
  for (const std::string& stop : stops) {
    const auto index = static_cast<std::int32_t>(automaton->stop_bytes.size());
    automaton->stop_bytes.push_back(stop.size());
    if (!stop.empty()) automaton->add(stop, index);
  }
  automaton->link();
  automaton_ = std::move(automaton);
}

StopScan StopMatcher::push(std::string_view text) {
  for (char byte : text) {
    held_ += byte;
    node_ = automaton_->step(node_, byte);
    const std::int32_t stop = automaton_->nodes[static_cast<std::size_t>(node_)].stop;
    if (stop < 0) continue;
    const std::size_t size = automaton_->stop_bytes[static_cast<std::size_t>(stop)];
    if (trim_ == StopTrim::kTrim) held_.resize(held_.size() - size);
    node_ = 0;
    return {std::exchange(held_, {}), stop};
  }
  const auto depth =
      static_cast<std::size_t>(automaton_->nodes[static_cast<std::size_t>(node_)].depth);
  std::string held = held_.substr(held_.size() - depth);
  held_.resize(held_.size() - depth);
  return {std::exchange(held_, std::move(held)), std::nullopt};
}

std::string StopMatcher::finish() {
  node_ = 0;
  return std::exchange(held_, {});
}

bool StopMatcher::would_match(std::string_view text) const {
  std::int32_t node = node_;
  for (char byte : text) {
    node = automaton_->step(node, byte);
    if (automaton_->nodes[static_cast<std::size_t>(node)].stop >= 0) return true;
  }
  return false;
}

}  // namespace foretoken
