#include "draft/from_text/ngram/corpus.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {

Corpus::Corpus(std::vector<Token> tokens, const std::atomic<bool>* is_over)
    : tokens_(std::move(tokens)) {
  CHECK(tokens_.size() < at(std::numeric_limits<std::int32_t>::max()));
  if (!tokens_.empty() && tokens_.back() != kDocumentEnd) tokens_.push_back(kDocumentEnd);
  order_.reserve(tokens_.size() - at(std::ranges::count(tokens_, kDocumentEnd)));
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    if (tokens_[i] != kDocumentEnd) order_.push_back(static_cast<std::int32_t>(i));
  if (!sort_places(tokens_, order_, is_over)) order_.clear();
  num_tokens_ = static_cast<std::int64_t>(order_.size());
}

Corpus::Match Corpus::find(std::span<const Token> text, int least, int most) const {
  Match match, longest;
  match.places = order_;
  const int length = std::min({most, kMostCorpusContext, static_cast<int>(text.size())});
  while (match.context < length) {
    const int distance = match.context + 1;
    const Token token = text[text.size() - at(distance)];
    const auto [first, last] = std::ranges::equal_range(
        match.places, token, {},
        [&](std::int32_t place) { return token_before(tokens_, place, distance); });
    if (first == last || token == kDocumentEnd) break;
    match.places = {first, last};
    match.context = distance;
    if (distance >= least) longest = match;
  }
  return longest;
}

}  // namespace foretoken
