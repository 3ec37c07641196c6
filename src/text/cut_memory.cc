#include "text/cut_memory.h"

#include <functional>

#include "base/index.h"
#include "base/rng.h"

namespace foretoken {
namespace {

constexpr std::size_t kSeen = 16;  // bytes of the text that tell where in it we are

std::uint64_t hash_of(Token before, std::string_view text) {
  return mix_seed(std::hash<std::string_view>()(text.substr(0, kSeen)),
                  static_cast<std::uint64_t>(before));
}

std::uint64_t word_of(std::uint64_t hash, Token token) {
  return (hash & ~std::uint64_t{0xFFFFFFFF}) | static_cast<std::uint32_t>(token + 1);
}

}  // namespace

void CutMemory::add(Token before, std::string_view text, Token token) {
  const std::uint64_t hash = hash_of(before, text);
  entries_[hash % kEntries].store(word_of(hash, token), std::memory_order_relaxed);
}

Token CutMemory::find(Token before, std::string_view text) const {
  const std::uint64_t hash = hash_of(before, text);
  const std::uint64_t word = entries_[hash % kEntries].load(std::memory_order_relaxed);
  const auto token = static_cast<Token>(word & 0xFFFFFFFF) - 1;
  return token >= 0 && word == word_of(hash, token) ? token : kNoToken;
}

}  // namespace foretoken
