#pragma once
// SharedTokens: a list of tokens whose copies share it until one of them grows. All choices of a
// request share one prompt while they wait, and drafters read it; a choice gets a list of its own
// with its first output token. Not a container for editing: tokens are read and appended. A copy
// may be used by another thread than the original.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"

namespace foretoken {

class SharedTokens {
 public:
  using value_type = Token;
  using const_iterator = const Token*;
  using iterator = const_iterator;

  SharedTokens() = default;
  SharedTokens(std::vector<Token> tokens) {  // not explicit: a prompt is written as its tokens
    for (const Token token : tokens) widen(token);
    shared_ = std::make_shared<const std::vector<Token>>(std::move(tokens));
  }
  SharedTokens(std::initializer_list<Token> tokens) : SharedTokens(std::vector<Token>(tokens)) {}

  std::size_t size() const { return list().size(); }
  bool empty() const { return list().empty(); }
  const Token* data() const { return list().data(); }
  const Token* begin() const { return data(); }
  const Token* end() const { return data() + size(); }
  Token operator[](std::size_t i) const { return list()[i]; }
  Token front() const { return list().front(); }
  Token back() const { return list().back(); }
  std::vector<Token> to_vector() const { return list(); }

  // Are all tokens in [0, vocab)? Known without a walk.
  bool all_in(std::int64_t vocab) const { return empty() || (lowest_ >= 0 && highest_ < vocab); }

  // Copies made from now on share the list, also where it has grown. Where it throws, nothing
  // changed.
  void share() {
    if (!own_.empty()) shared_ = std::make_shared<const std::vector<Token>>(std::move(own_));
    own_.clear();
  }

  void push_back(Token token) {
    if (shared_ != nullptr) {
      own_.reserve(shared_->size() + 1 + shared_->size() / 4);
      own_.assign(shared_->begin(), shared_->end());
      shared_.reset();
    }
    widen(token);
    own_.push_back(token);
  }

  friend bool operator==(const SharedTokens& a, const SharedTokens& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  const std::vector<Token>& list() const { return shared_ != nullptr ? *shared_ : own_; }
  void widen(Token token) {
    lowest_ = std::min(lowest_, token);
    highest_ = std::max(highest_, token);
  }

  std::shared_ptr<const std::vector<Token>> shared_;  // null: own_ is the list
  std::vector<Token> own_;
  Token lowest_ = 0, highest_ = 0;
};

}  // namespace foretoken
