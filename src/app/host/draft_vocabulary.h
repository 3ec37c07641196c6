#pragma once
// Whether a draft model that is a language model of its own speaks the target's language: the same
// ids must mean the same tokens, or nothing it proposes is ever right.

#include "app/options/options.h"
#include "text/tokenizer.h"

namespace foretoken {

// Throws Error naming both sizes and the first token that differs, where the vocabulary is another
// one; warns where a few tokens differ. Nothing to do without a draft model, or where it has no
// tokenizer of its own (a head of the target).
void check_draft_vocabulary(const Tokenizer& target, const Options& options);

struct VocabularyDifference {
  Token of = 0;       // tokens of the larger vocabulary
  Token tokens = 0;   // that are not the same text for both
  std::string first;  // of them, in words; empty: there is none

  // Names of special tokens differ among models that share a vocabulary.
  bool is_another() const { return tokens > of / 100; }
};
VocabularyDifference compare_vocabularies(const Tokenizer& target, const Tokenizer& draft);

// Why a language model's drafts are none for a target; empty: it has the vocabulary, or no tokenizer
// of its own. By sizes alone, or token by token. Throws Error for files that cannot be read.
std::string vocabulary_fault(const std::string& target, const ModelConfig& target_config,
                             const std::string& draft, bool compares_tokens);

}  // namespace foretoken
