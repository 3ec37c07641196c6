#pragma once
// StopMatcher: finds the first of several stop strings in text that arrives in pieces, and holds
// back what may be the beginning of one. The first means the one whose last byte comes first (of
// several that end there, the longest), so the result does not depend on how the text was cut into
// pieces. An Aho-Corasick automaton: O(1) amortised per byte. Not a regular expression engine. Not
// thread-safe: one per sequence. Copies are independent.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

enum class StopTrim {
  kTrim,
  kKeep
};  // is the stop string itself part of the output (no_stop_trim)

struct StopScan {
  std::string text;  // certain text; ends before (kTrim) or after (kKeep) the stop, if there is one
  std::optional<int> stop;  // index of the stop string that was completed
};

class StopMatcher {
 public:
  // Empty stop strings are ignored.
  explicit StopMatcher(const std::vector<std::string>& stops, StopTrim trim = StopTrim::kTrim);

  // Feeds text. After a match nothing more may be fed.
  StopScan push(std::string_view text);

  // What is held back, when no more text will come.
  std::string finish();

  // Would `text`, if it came next, complete a stop?
  bool would_match(std::string_view text) const;

 private:
  struct Node {
    std::int32_t fail = 0;    // node of the longest proper suffix that is a prefix of a stop
    std::int32_t child = -1;  // first child
    std::int32_t sibling = -1;
    std::int32_t depth = 0;  // bytes
    std::int32_t stop = -1;  // the longest stop that ends here
    char byte = 0;
  };
  struct Automaton {
    std::vector<Node> nodes{1};
    std::vector<std::size_t> stop_bytes;  // by index of the stop

    std::int32_t find_child(std::int32_t node, char byte) const;
    std::int32_t step(std::int32_t node, char byte) const;
    void add(std::string_view stop, std::int32_t index);
    void link();
  };

  std::shared_ptr<const Automaton> automaton_;
  StopTrim trim_;
  std::int32_t node_ = 0;  // state after all text fed so far
  std::string held_;       // the last nodes[node_].depth bytes of it
};

}  // namespace foretoken
