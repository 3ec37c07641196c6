#pragma once
// UnreadText: a text that a drafter still reads while it grows. Its beginning is the request's own
// list, shared and not copied; the drafter may put a few tokens before it, and committed tokens
// come behind it. Not a store: what is read may be dropped as a whole. One thread.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/shared_tokens.h"
#include "base/types.h"

namespace foretoken {

class UnreadText {
 public:
  // The text is `before`, then `tokens`.
  void start(std::span<const Token> before, SharedTokens tokens) {
    before_.assign(before.begin(), before.end());
    tokens_ = std::move(tokens);
    behind_.clear();
  }
  void push_back(Token token) { behind_.push_back(token); }

  // Nothing is left to be read. The memory of short texts is kept for the next one.
  void drop() {
    drop(before_);
    tokens_ = {};
    drop(behind_);
  }

  std::size_t size() const { return before_.size() + tokens_.size() + behind_.size(); }
  Token operator[](std::size_t i) const {
    if (i < before_.size()) return before_[i];
    i -= before_.size();
    return i < tokens_.size() ? tokens_[i] : behind_[i - tokens_.size()];
  }

 private:
  static constexpr std::size_t kKeptTokens = 1 << 14;

  static void drop(std::vector<Token>& tokens) {
    if (tokens.capacity() > kKeptTokens)
      tokens = {};
    else
      tokens.clear();
  }

  std::vector<Token> before_;
  SharedTokens tokens_;
  std::vector<Token> behind_;
};

}  // namespace foretoken
