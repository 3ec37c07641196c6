#pragma once
// SuffixTrees: which tokens followed which, and how often, in texts that come and go. A tree holds
// every run of up to max_depth tokens of its texts, as a path from its root. Paths are compressed:
// a node is an edge of one token or many, which are not stored but looked up in a text that has
// them. So a token costs two nodes at most, however deep the tree, and what was never said before
// costs nothing further while it goes on. A node counts how often texts have entered its edge; of
// children the most frequent comes first, the newer where two are alike, and the others about
// newest first; where texts were taken out, only some of many children are compared. Not a drafter:
// it knows token ids only (see suffix_growth.h). Nodes are reserved at the start and touched as
// they come; where they run short, append() says so and nothing is given up unasked. Whole trees
// are felled, and texts are taken out of a tree in the order in which they went in, both little by
// little. Engine thread only.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/index.h"
#include "base/types.h"
#include "draft/from_text/edge_index.h"
#include "tensor/buffer.h"

namespace foretoken {

class SuffixTrees {
 public:
  using Id = EdgeIndex::Id;  // of a node; a tree is known by its root. 0: none
  using TextId = std::uint32_t;

  // A node as it was when it was met; given up since, it is met no more.
  struct Place {
    Id node = 0;
    std::uint16_t version = 0;
  };

  // Where some text stands in a tree: for each length, where the run that is its end is found. It
  // may outlive the tree.
  class Cursor {
   public:
    // Nothing of the text is known to be there yet.
    void start(Place root);
    Place root() const { return root_; }
    // Tokens at the end of the text that are a run of the tree.
    int longest() const { return longest_; }
    // The same, and how far before them the text agreed with the tree all along.
    int agreed() const { return agreed_; }

   private:
    friend class SuffixTrees;
    Place root_;
    int longest_ = 0, agreed_ = 0;
    std::vector<Place> places_;  // by length, those up to longest_ in use
  };

  // A place inside an edge or at its end: the run of `depth` tokens that leads there.
  struct Point {
    Id node = 0;
    int depth = 0;
  };
  struct Next {
    Token token;
    float share;  // how often it was this one that followed, 0 to 1
  };

  // capacity: tokens of all texts. Throws Error where this cannot be, or memory is short.
  SuffixTrees(std::int64_t capacity, int max_depth);
  static std::size_t bytes_for(std::int64_t capacity, int max_depth);

  int max_depth() const { return max_depth_; }
  std::int64_t nodes() const { return nodes_; }
  std::int64_t tokens() const { return tokens_; }
  // Whether append() can go on.
  bool has_room() const { return free_nodes() >= 4 * max_depth_ && tokens_ < capacity_; }
  // Whether it can for so many tokens, whatever they are.
  bool has_room_for(std::int64_t tokens) const;

  // An empty tree; 0 where there is no node for it.
  Id plant();
  Place place_of(Id node) const { return {node, this->node(node).version}; }
  bool exists(Place place) const {
    return place.node != 0 && node(place.node).version == place.version;
  }
  bool is_bare(Id root) const { return node(root).first_child == 0; }
  // Gives up so many nodes of a tree in which nothing is read or written any more; true: none is
  // left, and its texts may be released.
  bool fell(Id root, int nodes);

  // A text that is to grow in this tree. May throw for lack of memory.
  TextId begin(Id root);
  // The text goes on with this token; false, and nothing done, where there is no room.
  bool append(TextId text, Token token);
  // Where the text stands.
  const Cursor& end_of(TextId text) const { return texts_[text].end; }
  // It goes on no more and may be taken out.
  void end(TextId text);
  // Takes the runs that begin with some of its first tokens out of its tree; true: none is left,
  // and it may be released. Texts that ended before it must have been taken out before it.
  bool take_out(TextId text, int tokens);
  // Forgets the tokens of a text that no tree has any more. Needs no memory.
  void release(TextId text);

  // The text of the cursor goes on with this token.
  void advance(Cursor& cursor, Token token) const;
  // The end of the cursor's text, `length` tokens of it, 1 to longest(); node 0: given up since.
  Point point(const Cursor& cursor, int length) const;
  // Moves on to what followed most often. `ended`: how many texts that the node counts have come no
  // further than this point, such as the one whose end it is. Beyond max_depth it is what followed
  // in one text.
  std::optional<Next> follow(Point& point, int ended = 0) const;

  // Forgets everything and gives its memory back to the system until it is needed again.
  void clear();

  // One sentence naming the first broken invariant below a root, or empty. Looks at all its nodes.
  std::string fault_below(Id root) const;

 private:
  struct Node {
    TextId text;          // that has its tokens, those of the whole path to it:
    std::uint32_t start;  // from here on
    Id parent;
    Id first_child;
    Id previous, next;  // siblings; 0: none. Of a node that is free: the next free one
    std::uint32_t count;
    std::uint8_t begin, end;  // its edge, in tokens from the root; of a leaf that grows, max_depth
    std::uint16_t version;    // grows when the node is given up
  };
  struct Text {
    Id root = 0;
    std::vector<Token> tokens;
    Cursor end;              // of the suffixes that occurred before
    std::vector<Id> leaves;  // of the others, by where they start, modulo max_depth
    std::size_t taken_out = 0;
  };

  Node* all_nodes() const { return static_cast<Node*>(memory_.data()); }
  Node& node(Id id) const { return all_nodes()[id]; }
  std::int64_t free_nodes() const { return capacity_nodes_ - 1 - nodes_; }
  static std::int64_t nodes_for(std::int64_t capacity, int max_depth) {
    return 2 * capacity + 16 * max_depth;
  }

  // What comes after `depth` tokens on the way through this node; kNoToken: nothing yet.
  Token token(const Node& at, int depth) const {
    const std::vector<Token>& tokens = texts_[at.text].tokens;
    const std::size_t i = at.start + static_cast<std::size_t>(depth);
    return i < tokens.size() ? tokens[i] : kNoToken;
  }
  // Splits put nodes between a place and where it was.
  Id settle(Id id, int depth) const {
    while (node(id).begin >= depth && node(id).parent != 0) id = node(id).parent;
    return id;
  }
  Id find(Id parent, int depth, Token token) const;
  Id split(Id id, int depth, const Cursor& writer);
  void add_leaf(Text& text, TextId id, Id parent, int depth);
  void meet(Id id);
  void miss(Id id);
  Id make();
  void give_up(Id id);
  void link(Id id, Id parent);
  void unlink(Id id);

  const std::int64_t capacity_;
  const int max_depth_;
  const std::int64_t capacity_nodes_;
  Buffer memory_;
  EdgeIndex index_;
  std::int64_t made_ = 1;  // nodes that were ever made; the first is none
  std::int64_t nodes_ = 0;
  std::int64_t tokens_ = 0;
  Id free_ = 0;
  std::vector<Text> texts_;
  std::vector<TextId> free_texts_;
};

}  // namespace foretoken
