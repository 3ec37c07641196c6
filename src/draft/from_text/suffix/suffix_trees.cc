#include "draft/from_text/suffix/suffix_trees.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "draft/from_text/suffix/suffix_options.h"

namespace foretoken {
namespace {

constexpr int kCompared = 16;                 // children
constexpr std::size_t kKeptTokens = 1 << 12;  // of memory, by text that is released

std::int64_t checked_tokens(std::int64_t capacity, int max_depth) {
  const auto fail = [](const char* what, const std::string& expected, std::int64_t found) {
    throw Error({what, {}, expected, std::to_string(found)});
  };
  if (max_depth < 2 || max_depth > kMostSuffixDepth)
    fail("the depth of suffix trees", fmt::format("2 to {}", kMostSuffixDepth), max_depth);
  if (capacity < 1 || capacity > kMostSuffixTokens)
    fail("the capacity of suffix trees", fmt::format("1 to {} tokens", kMostSuffixTokens),
         capacity);
  return capacity;
}

}  // namespace

void SuffixTrees::Cursor::start(Place root) {
  root_ = root;
  longest_ = agreed_ = 0;
}

SuffixTrees::SuffixTrees(std::int64_t capacity, int max_depth)
    : capacity_(checked_tokens(capacity, max_depth)),
      max_depth_(max_depth),
      capacity_nodes_(nodes_for(capacity, max_depth)),
      memory_(at(capacity_nodes_) * sizeof(Node)),
      index_(at(capacity_nodes_)) {
  static_assert(sizeof(Node) == 32, "two nodes to a cache line");
}

std::size_t SuffixTrees::bytes_for(std::int64_t capacity, int max_depth) {
  const std::size_t nodes = at(nodes_for(capacity, max_depth));
  return nodes * sizeof(Node) + EdgeIndex::bytes_for(nodes) + at(capacity) * 2 * sizeof(Token);
}

bool SuffixTrees::has_room_for(std::int64_t tokens) const {
  return free_nodes() >= 2 * tokens + 4 * max_depth_ && tokens_ + tokens <= capacity_;
}

// ---- nodes

SuffixTrees::Id SuffixTrees::make() {
  Id id = free_;
  if (id != 0)
    free_ = node(id).next;
  else if (made_ < capacity_nodes_)
    id = static_cast<Id>(made_++);
  else
    return 0;
  ++nodes_;
  Node& made = node(id);
  made.parent = made.first_child = made.previous = made.next = 0;
  made.text = made.start = made.count = 0;
  made.begin = made.end = 0;
  return id;
}

// Its tokens are still there to be looked up.
void SuffixTrees::give_up(Id id) {
  Node& old = node(id);
  if (old.parent != 0) {
    index_.erase(EdgeIndex::hash_of(old.parent, token(old, old.begin)), id);
    unlink(id);
  }
  ++old.version;
  old.next = std::exchange(free_, id);
  --nodes_;
}

// A new child comes first where none has been met more often, else behind the first.
void SuffixTrees::link(Id id, Id parent) {
  Node &child = node(id), &above = node(parent);
  const Id first = above.first_child;
  if (first == 0 || node(first).count <= child.count) {
    child.previous = 0;
    child.next = first;
    above.first_child = id;
  } else {
    child.previous = first;
    child.next = node(first).next;
    node(first).next = id;
  }
  if (child.next != 0) node(child.next).previous = id;
}

void SuffixTrees::unlink(Id id) {
  const Node& child = node(id);
  if (child.previous != 0)
    node(child.previous).next = child.next;
  else
    node(child.parent).first_child = child.next;
  if (child.next != 0) node(child.next).previous = child.previous;
}

SuffixTrees::Id SuffixTrees::find(Id parent, int depth, Token wanted) const {
  return index_.find(EdgeIndex::hash_of(parent, wanted), [&](Id id) {
    const Node& found = node(id);
    return found.parent == parent && token(found, depth) == wanted;
  });
}

void SuffixTrees::meet(Id id) {
  Node& met = node(id);
  ++met.count;
  if (met.previous == 0 || met.count < node(node(met.parent).first_child).count) return;
  unlink(id);
  link(id, met.parent);
}

// Where others have been met more often now, one of them comes first.
void SuffixTrees::miss(Id id) {
  Node& missed = node(id);
  if (missed.count > 0) --missed.count;
  if (missed.previous != 0) return;
  Id most = id, other = missed.next;
  for (int n = 0; n < kCompared && other != 0; ++n, other = node(other).next)
    if (node(other).count > node(most).count) most = other;
  if (most == id) return;
  unlink(most);
  link(most, missed.parent);
}

// The edge ends after `depth` tokens; what is left of it becomes the child of a new node, which is
// returned and takes its place. The lower part keeps its number, so that its children stay.
// writer: whose places in the upper part have not gone through the lower one.
SuffixTrees::Id SuffixTrees::split(Id id, int depth, const Cursor& writer) {
  const Id upper_id = make();
  CHECK(upper_id != 0) << "append() made sure of nodes";
  Node &lower = node(id), &upper = node(upper_id);
  const Id parent = lower.parent;
  const Token first = token(lower, lower.begin);
  upper.text = lower.text;
  upper.start = lower.start;
  upper.count = lower.count;
  upper.begin = lower.begin;
  upper.end = static_cast<std::uint8_t>(depth);
  upper.parent = parent;
  upper.previous = lower.previous;
  upper.next = lower.next;
  upper.first_child = id;
  if (upper.previous != 0)
    node(upper.previous).next = upper_id;
  else
    node(parent).first_child = upper_id;
  if (upper.next != 0) node(upper.next).previous = upper_id;
  std::uint32_t in_upper = 0;
  for (int length = lower.begin + 1; length <= std::min(depth, writer.longest_); ++length) {
    const Id place = writer.places_[at(length)].node;
    if (place != 0 && settle(place, length) == id) ++in_upper;
  }
  index_.erase(EdgeIndex::hash_of(parent, first), id);
  index_.insert(EdgeIndex::hash_of(parent, first), upper_id);
  lower.parent = upper_id;
  lower.previous = lower.next = 0;
  lower.begin = static_cast<std::uint8_t>(depth);
  lower.count -= std::min(in_upper, lower.count);
  index_.insert(EdgeIndex::hash_of(upper_id, token(lower, depth)), id);
  return upper_id;
}

// For the last token of the text, which begins its edge.
void SuffixTrees::add_leaf(Text& text, TextId id, Id parent, int depth) {
  const Id leaf_id = make();
  CHECK(leaf_id != 0) << "append() made sure of nodes";
  Node& leaf = node(leaf_id);
  const std::size_t start = text.tokens.size() - 1 - at(depth);
  leaf.text = id;
  leaf.start = static_cast<std::uint32_t>(start);
  leaf.parent = parent;
  leaf.count = 1;
  leaf.begin = static_cast<std::uint8_t>(depth);
  leaf.end = static_cast<std::uint8_t>(max_depth_);
  link(leaf_id, parent);
  index_.insert(EdgeIndex::hash_of(parent, text.tokens.back()), leaf_id);
  text.leaves[start % at(max_depth_)] = leaf_id;
}

// ---- trees

SuffixTrees::Id SuffixTrees::plant() { return free_nodes() > 0 ? make() : 0; }

bool SuffixTrees::fell(Id root, int nodes) {
  for (Id id = root; nodes > 0; --nodes) {
    while (node(id).first_child != 0) id = node(id).first_child;
    const Id parent = node(id).parent;
    give_up(id);
    if (id == root) return true;
    id = parent;
  }
  return false;
}

// ---- texts

SuffixTrees::TextId SuffixTrees::begin(Id root) {
  if (free_texts_.empty()) {
    free_texts_.reserve(texts_.size() + 1);  // so that release() needs no memory
    texts_.emplace_back();
    free_texts_.push_back(static_cast<TextId>(texts_.size() - 1));
  }
  Text& text = texts_[free_texts_.back()];
  text.leaves.resize(at(max_depth_));
  text.end.places_.resize(at(max_depth_) + 1);
  text.end.start(place_of(root));
  text.root = root;
  text.taken_out = 0;
  const TextId id = free_texts_.back();
  free_texts_.pop_back();
  return id;
}

// The longest suffixes are leaves, which grow by themselves, since they say where in the text their
// tokens are. The shorter ones have occurred before: each goes on in its edge, or into another one,
// or parts from what it agreed with and becomes a leaf, too.
bool SuffixTrees::append(TextId id, Token said) {
  if (!has_room()) return false;
  Text& text = texts_[id];
  text.tokens.push_back(said);
  ++tokens_;
  const auto end = static_cast<std::uint32_t>(text.tokens.size() - 1);
  Cursor& cursor = text.end;
  int longest = 0;
  for (int length = cursor.longest_; length >= 0; --length) {
    Id here = length == 0 ? text.root : settle(cursor.places_[at(length)].node, length);
    Node* found = &node(here);
    if (here == 0) continue;
    if (length < found->end) {
      if (token(*found, length) == said) {
        cursor.places_[at(length) + 1] = place_of(here);
        longest = std::max(longest, length + 1);
        continue;
      }
      here = split(here, length, cursor);
      found = &node(here);
    }
    // All of its edge is read: the newest text that has it is where it is looked up.
    if (length > 0) {
      found->text = id;
      found->start = end - static_cast<std::uint32_t>(length);
    }
    if (length == max_depth_) continue;
    if (const Id child = find(here, length, said)) {
      meet(child);
      cursor.places_[at(length) + 1] = place_of(child);
      longest = std::max(longest, length + 1);
    } else {
      cursor.places_[at(length) + 1] = {};
      add_leaf(text, id, here, length);
    }
  }
  cursor.longest_ = longest;
  cursor.agreed_ = longest == max_depth_ ? std::max(cursor.agreed_ + 1, longest) : longest;
  return true;
}

// Where it stops in the middle of an edge, it has not read the rest of it.
void SuffixTrees::end(TextId id) {
  Text& text = texts_[id];
  const int size = static_cast<int>(std::min(text.tokens.size(), at(max_depth_)));
  for (int length = size; length > text.end.longest_; --length)
    node(text.leaves[(text.tokens.size() - at(length)) % at(max_depth_)]).end =
        static_cast<std::uint8_t>(length);
  for (int length = text.end.longest_; length >= 1; --length) {
    Id here = settle(text.end.places_[at(length)].node, length);
    if (length < node(here).end) here = split(here, length, text.end);
    node(here).text = id;
    node(here).start = static_cast<std::uint32_t>(text.tokens.size() - at(length));
  }
  text.end.start({});
}

bool SuffixTrees::take_out(TextId id, int tokens) {
  Text& text = texts_[id];
  std::array<Id, kMostSuffixDepth> path;
  for (; tokens > 0 && text.taken_out < text.tokens.size(); --tokens, ++text.taken_out) {
    const std::size_t start = text.taken_out;
    const int size = static_cast<int>(std::min(text.tokens.size() - start, at(max_depth_)));
    std::size_t nodes = 0;
    Id here = text.root;
    for (int depth = 0; depth < size; depth = node(here).end) {
      here = find(here, depth, text.tokens[start + at(depth)]);
      if (here == 0) break;
      miss(here);
      path[nodes++] = here;
    }
    while (nodes > 0 && node(path[nodes - 1]).count == 0 && node(path[nodes - 1]).first_child == 0)
      give_up(path[--nodes]);
  }
  return text.taken_out == text.tokens.size();
}

void SuffixTrees::release(TextId id) {
  Text& text = texts_[id];
  tokens_ -= static_cast<std::int64_t>(text.tokens.size());
  if (text.tokens.capacity() > kKeptTokens)
    text.tokens = {};
  else
    text.tokens.clear();
  free_texts_.push_back(id);
}

// ---- reading

void SuffixTrees::advance(Cursor& cursor, Token said) const {
  if (!exists(cursor.root_)) return cursor.start({});
  cursor.places_.resize(at(max_depth_) + 1);
  int longest = 0;
  for (int length = std::min(cursor.longest_, max_depth_ - 1); length >= 0; --length) {
    Place& next = cursor.places_[at(length) + 1];
    next = {};
    const Place& place = length == 0 ? cursor.root_ : cursor.places_[at(length)];
    if (!exists(place)) continue;
    Id here = length == 0 ? place.node : settle(place.node, length);
    if (length < node(here).end)
      here = token(node(here), length) == said ? here : 0;
    else
      here = find(here, length, said);
    if (here == 0) continue;
    next = place_of(here);
    longest = std::max(longest, length + 1);
  }
  cursor.longest_ = longest;
  cursor.agreed_ = longest == max_depth_ ? std::max(cursor.agreed_ + 1, longest) : longest;
}

SuffixTrees::Point SuffixTrees::point(const Cursor& cursor, int length) const {
  const Place& place = cursor.places_[at(length)];
  if (!exists(place)) return {};
  return {settle(place.node, length), length};
}

std::optional<SuffixTrees::Next> SuffixTrees::follow(Point& point, int ended) const {
  const Node& here = node(point.node);
  Next next{kNoToken, 1.0F};
  if (point.depth < here.end || point.depth >= max_depth_) {
    next.token = token(here, point.depth);
  } else if (here.first_child != 0) {
    const Node& child = node(here.first_child);
    const auto times = static_cast<float>(here.count) - static_cast<float>(ended);
    next.token = token(child, point.depth);
    next.share = std::min(1.0F, static_cast<float>(child.count) / std::max(1.0F, times));
    point.node = here.first_child;
  }
  if (next.token == kNoToken) return std::nullopt;
  ++point.depth;
  return next;
}

void SuffixTrees::clear() {
  give_back(memory_);
  index_.clear();
  made_ = 1;
  nodes_ = tokens_ = 0;
  free_ = 0;
  texts_.clear();
  free_texts_.clear();
}

// ---- integrity

std::string SuffixTrees::fault_below(Id id) const {
  Id before = 0;
  std::uint32_t passed = 0;
  for (Id child = node(id).first_child; child != 0; child = node(child).next) {
    const Node& found = node(child);
    if (found.parent != id) return fmt::format("node {} has another parent than {}", child, id);
    if (found.previous != before) return fmt::format("node {} follows another sibling", child);
    if (found.begin != node(id).end || found.end <= found.begin)
      return fmt::format("the edge of node {} is from {} to {}", child, found.begin, found.end);
    const Token first = token(found, found.begin);
    if (first == kNoToken || find(id, found.begin, first) != child)
      return fmt::format("node {} is not found by its token", child);
    if (found.count == 0) return fmt::format("node {} was never met", child);
    passed += found.count;
    before = child;
    if (std::string fault = fault_below(child); !fault.empty()) return fault;
  }
  if (node(id).parent != 0 && passed > node(id).count)
    return fmt::format("{} texts went on from node {}, where {} were", passed, id, node(id).count);
  return {};
}

}  // namespace foretoken
