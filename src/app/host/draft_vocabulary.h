#pragma once
// Whether a draft model that is a language model of its own speaks the target's language: the same
// ids must mean the same tokens, or nothing it proposes is ever right.

#include "app/options/options.h"
#include "text/tokenizer.h"

namespace foretoken {

// Throws Error naming both sizes and the first token that differs. Nothing to do without a draft
// model, or where it has no tokenizer of its own (a head of the target).
void check_draft_vocabulary(const Tokenizer& target, const Options& options);

// The comparison; empty: the same vocabulary.
std::string vocabulary_difference(const Tokenizer& target, const Tokenizer& draft);

}  // namespace foretoken
