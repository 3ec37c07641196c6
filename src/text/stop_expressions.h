#pragma once
// StopExpressions: the regular expressions that end a text, in Rust's syntax. ExpressionSearch: one
// text's place in them. The text so far is searched as it grows, character by character: $ is its
// end, \b at its end looks at no more. A text ends where one of them matches first; of matches that
// end there the longest counts, so the result does not depend on how the text was cut into pieces.
// Work per byte and memory are bounded by the number of states, which is limited. Threads: const
// use from any number; a search by one at a time.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

struct FtExpressions;
struct FtSearch;

namespace foretoken {

class StopExpressions {
 public:
  // Refused, with the expression and the reason: what cannot be read, is too large, or matches the
  // empty text.
  static Result<std::shared_ptr<const StopExpressions>> compile(
      std::span<const std::string> expressions);

  std::size_t states() const;

 private:
  friend class ExpressionSearch;
  struct Free {
    void operator()(FtExpressions* expressions) const;
  };
  explicit StopExpressions(FtExpressions* expressions) : expressions_(expressions) {}

  std::unique_ptr<FtExpressions, Free> expressions_;
};

class ExpressionSearch {
 public:
  explicit ExpressionSearch(const StopExpressions& expressions);
  ExpressionSearch(const ExpressionSearch& other);
  ExpressionSearch(ExpressionSearch&& other) noexcept
      : search_(std::exchange(other.search_, nullptr)), held_(other.held_) {}
  ExpressionSearch& operator=(const ExpressionSearch&) = delete;
  ~ExpressionSearch();

  struct Match {
    int expression = 0;
    std::size_t end = 0;   // bytes of the pushed text up to the end of the match
    std::size_t size = 0;  // bytes of the match, as far as it was held back
  };
  // After a match nothing more may be pushed.
  std::optional<Match> push(std::string_view text);

  // Bytes at the end of the text that may be part of a match; some thousand at most.
  std::size_t held() const { return held_; }

 private:
  FtSearch* search_;
  std::size_t held_ = 0;
};

}  // namespace foretoken
