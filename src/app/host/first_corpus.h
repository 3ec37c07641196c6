#pragma once
// The corpus that a flag names, read when the program starts.

#include <cstdint>

#include "app/options/options.h"
#include "draft/from_text/ngram/corpora.h"
#include "text/tokenizer.h"

namespace foretoken {

// Adds the file of --speculative-ngram-external-corpus-path under its path, if there is one and
// drafts are taken from corpora at all (null: they are not). Throws Error where it cannot be read.
void add_first_corpus(const Options& options, const Tokenizer* tokenizer, std::int64_t vocab,
                      Corpora* corpora);

}  // namespace foretoken
