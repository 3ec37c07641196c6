#include "base/error.h"
#include "batch/sampling.h"

namespace foretoken {

void TokenCounts::add_prompt(Token token) { find_or_add(token).in_prompt = true; }

void TokenCounts::add_output(Token token) { ++find_or_add(token).output_count; }

void TokenCounts::clear() {
  for (const Entry& entry : entries_) index_of_[static_cast<std::size_t>(entry.token)] = 0;
  entries_.clear();
}

const TokenCounts::Entry* TokenCounts::find(Token token) const {
  const auto at = static_cast<std::size_t>(token);
  if (token < 0 || at >= index_of_.size() || index_of_[at] == 0) return nullptr;
  return &entries_[static_cast<std::size_t>(index_of_[at] - 1)];
}

TokenCounts::Entry& TokenCounts::find_or_add(Token token) {
  CHECK(token >= 0) << "token " << token;
  const auto at = static_cast<std::size_t>(token);
  if (at >= index_of_.size()) index_of_.resize(at + 1, 0);
  if (index_of_[at] == 0) {
    entries_.push_back({token, 0, false});
    index_of_[at] = static_cast<std::int32_t>(entries_.size());
  }
  return entries_[static_cast<std::size_t>(index_of_[at] - 1)];
}

}  // namespace foretoken
