#pragma once
// StopMatcher: finds the first of several stop strings and regular expressions in text that arrives
// in pieces, and holds back what may be the beginning of one. Not thread-safe: one per sequence;
// copies are independent.
//   - The first is the one whose last byte comes first; of several that end there, the longest. So
//     the result does not depend on how the text was cut into pieces.
//   - Strings are an Aho-Corasick automaton: O(1) amortised per byte. For expressions see
//     stop_expressions.h.
//   - StopStrings holds what does not change while text is fed: built once per request, read by all
//     of its choices from any thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/stop_expressions.h"

namespace foretoken {

enum class StopTrim {
  kTrim,
  kKeep
};  // is the stop string itself part of the output (no_stop_trim)

struct StopScan {
  std::string text;  // certain text; ends before (kTrim) or after (kKeep) the stop, if there is one
  std::optional<int> stop;  // index of the stop that was completed; of equal ones the first
};

// The stop strings of a request and their automaton, and its expressions. Immutable. Takes some 25
// bytes per byte of the strings, so callers bound the total of what comes from outside.
class StopStrings {
 public:
  // Empty strings match nothing, but count in indices. Expressions are counted behind the strings.
  explicit StopStrings(std::vector<std::string> stops);
  StopStrings(std::vector<std::string> stops, std::vector<std::string> expressions,
              std::shared_ptr<const StopExpressions> compiled);

  std::size_t total_bytes() const { return nodes_.size(); }  // of all strings, or less
  // Of what looks for expressions, for each text.
  std::size_t bytes_per_text() const;
  // The string, or the expression.
  const std::string& text(int index) const { return stops_[static_cast<std::size_t>(index)]; }

 private:
  friend class StopMatcher;
  struct Node {
    std::int32_t fail = 0;    // node of the longest proper suffix that is a prefix of a stop
    std::int32_t child = -1;  // first child
    std::int32_t sibling = -1;
    std::int32_t depth = 0;  // bytes
    std::int32_t stop = -1;  // the longest stop that ends here
    char byte = 0;
  };

  const Node& node(std::int32_t id) const { return nodes_[static_cast<std::size_t>(id)]; }
  std::int32_t find_child(std::int32_t node, char byte) const;
  std::int32_t step(std::int32_t node, char byte) const;
  void add(std::string_view stop, std::int32_t index);
  void link();

  std::size_t strings() const { return stops_.size() - num_expressions_; }

  std::vector<std::string> stops_;
  std::size_t num_expressions_ = 0;                     // at their end
  std::shared_ptr<const StopExpressions> expressions_;  // null: none
  std::vector<Node> nodes_{1};
};

class StopMatcher {
 public:
  // stops may be null: nothing is stopped.
  explicit StopMatcher(std::shared_ptr<const StopStrings> stops, StopTrim trim = StopTrim::kTrim);

  // Feeds text. After a match nothing more may be fed.
  StopScan push(std::string_view text);

  // What is held back, when no more text will come.
  std::string finish();

  // Would `text`, if it came next, complete a stop?
  bool would_match(std::string_view text) const;

 private:
  struct Found {
    std::int32_t stop = -1;  // none
    std::size_t end = 0, size = 0;
  };
  Found find(std::string_view text);
  std::size_t character_at(std::size_t byte) const;

  std::shared_ptr<const StopStrings> stops_;
  StopTrim trim_;
  std::int32_t node_ = 0;  // state after all text fed so far
  std::string held_;       // what of it may be part of a stop
  std::optional<ExpressionSearch> search_;
};

}  // namespace foretoken
