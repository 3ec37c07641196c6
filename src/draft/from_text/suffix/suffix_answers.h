#pragma once
// SuffixAnswers: the finished answers that a SuffixDrafter remembers, one suffix tree per scope.
// The oldest leave first, when there are too many or nodes run short. Answers wait to be read, and
// are read and taken out little by little. Not the texts of running requests. Engine thread only.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "draft/from_text/suffix/suffix_trees.h"

namespace foretoken {

class SuffixAnswers {
 public:
  // most: answers at a time. The trees are shared with other texts and outlive this. spare: tokens
  // that these are to find room for.
  SuffixAnswers(SuffixTrees& trees, int most, std::int64_t spare)
      : trees_(trees), most_(at(most)), spare_(spare) {}

  // Without memory, or with too much to be read already, it is as if it had never been.
  void add(std::uint64_t scope, std::vector<Token> tokens) noexcept;
  // Reads or takes out so many tokens at most, and returns how many are left.
  int work(int tokens);
  // The tree of a scope; nowhere while nothing of it is remembered.
  SuffixTrees::Place root_of(std::uint64_t scope) const;
  std::size_t size() const { return kept_.size(); }
  // The trees are empty: so is this.
  void forget();

 private:
  struct Waiting {
    std::uint64_t scope;
    std::vector<Token> tokens;
  };
  struct Kept {
    std::uint64_t scope;
    SuffixTrees::TextId text;
  };
  struct Scope {
    SuffixTrees::Id root = 0;
    std::size_t answers = 0;
  };

  bool is_full() const;
  bool start_reading();
  void take_out_oldest(int& tokens);
  void give_up_if_bare(std::uint64_t number);

  SuffixTrees& trees_;
  const std::size_t most_;
  const std::int64_t spare_;
  std::deque<Waiting> waiting_;
  std::int64_t waiting_tokens_ = 0;
  bool is_reading_ = false;  // the first that waits, which is the last in kept_
  std::size_t read_ = 0;     // tokens of it
  std::deque<Kept> kept_;    // the oldest first
  std::unordered_map<std::uint64_t, Scope> scopes_;
};

}  // namespace foretoken
