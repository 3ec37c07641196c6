#pragma once
// CutMemory: how a model cuts text into tokens that it was bound to write, where that is not as the
// tokenizer would: remembered of the last time, by the token before and by the text that was to
// come. For drafts only; what is forgotten or mixed up costs a draft that fails. Not a text: what
// was free to come is never in it. Fixed memory, half a megabyte, from the start. Thread-safe,
// without locks.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace foretoken {

class CutMemory {
 public:
  CutMemory() : entries_(kEntries) {}

  // `text` was to come behind `before` (kNoToken: nothing), and began with `token`.
  void add(Token before, std::string_view text, Token token);
  // What it began with then; kNoToken: not known.
  Token find(Token before, std::string_view text) const;

 private:
  static constexpr std::size_t kEntries = std::size_t{1} << 16;

  // One word each: the upper half of the key's hash, and the token.
  std::vector<std::atomic<std::uint64_t>> entries_;
};

}  // namespace foretoken
