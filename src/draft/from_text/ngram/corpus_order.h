#pragma once
// The order of a corpus's places: by the tokens before them, read backwards, then by place. Takes
// seconds for millions of tokens, and may be given up meanwhile.

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

// Token ids are never negative; this one stands between documents, so that no run crosses.
inline constexpr Token kDocumentEnd = -1;
// Places are told apart by so many tokens before them at most.
inline constexpr int kMostCorpusContext = 32;

// The token `distance` before a place, 1 the one just before it; where its document begins,
// kDocumentEnd. Asked only within the document, or one beyond.
Token token_before(std::span<const Token> tokens, std::int32_t place, int distance);

// Sorts the places; false: is_over became true, and they are in no order. is_over may be null.
bool sort_places(std::span<const Token> tokens, std::vector<std::int32_t>& places,
                 const std::atomic<bool>* is_over);

}  // namespace foretoken
