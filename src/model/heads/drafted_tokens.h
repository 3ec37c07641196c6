#pragma once
// DraftedTokens: which of the target's tokens a draft model proposes, where it does not propose all:
// FR-Spec's token map, and behind it the tokens that texts had last. Not the rows of its output
// matrix (draft_output.h). Drafts change no text, so neither does this. Engine thread only.
//
//   list()   always: those of the map      group 0      group 1     ...
//            never changes                 others, as texts bring them; a full row of groups begins
//                                          again with the oldest one, empty
//
// Of texts of code, German and Chinese, 16,384 low ids and 2,048 others had 96 to 99.6 % of all tokens.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

class DraftedTokens {
 public:
  // Room for tokens beside those of the map.
  struct Room {
    int groups = 0;
    int group_size = 0;
  };
  // always: at least one, each once, below vocab; tokens from vocab on are not proposed.
  DraftedTokens(std::vector<Token> always, std::int64_t vocab, Room room);

  // Nothing where a vocabulary is so small that all of it may as well be proposed. Vocabularies are
  // made of byte pairs or pieces by falling frequency, so that low ids are frequent.
  static std::optional<DraftedTokens> usual(std::int64_t vocab);

  // Takes in what is new among the tokens of a text, oldest first. The groups that are different
  // now, ascending; valid until the next call.
  std::span<const int> see(std::span<const Token> text);
  void empty_group(int group);

  // By column of the logits.
  std::span<const Token> list() const { return list_; }
  std::span<const Token> always() const { return std::span(list_).first(always_); }
  std::span<const Token> group(int group) const;
  int groups() const { return static_cast<int>(groups_.size()); }
  std::int64_t most() const;  // in the list, ever

 private:
  void add(Token token);
  void make_list();

  std::vector<Token> list_;
  const std::size_t always_;
  const Room room_;
  std::vector<std::vector<Token>> groups_;
  std::size_t filling_ = 0;  // group
  std::vector<bool> is_listed_;
  std::vector<int> changed_;
};

}  // namespace foretoken
