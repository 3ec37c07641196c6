#include "app/host/first_corpus.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "draft/catalogue/plan_drafts.h"
#include "server/request/corpus_text.h"

namespace foretoken {

void add_first_corpus(const Options& options, const Tokenizer* tokenizer, std::int64_t vocab,
                      Corpora* corpora) {
  const auto& [room, path, flag] = corpora_of(options.draft);
  if (path.empty() || corpora == nullptr) return;
  const auto refuse = [&](const std::string& reason) {
    throw Error({.what = "the external corpus cannot be loaded",
                 .where = std::string(flag),
                 .expected = "a JSONL file of strings",
                 .found = reason});
  };
  if (tokenizer == nullptr) return refuse("no tokenizer (--skip-tokenizer-init)");
  auto tokens = read_corpus_file(path, *tokenizer, vocab, corpora->room());
  if (!tokens) return refuse(tokens.refusal().message);
  const auto loaded = corpora->add(path, *std::move(tokens));
  if (!loaded) return refuse(loaded.refusal().message);
  log_info("Loaded external ngram corpus '{}' ({} tokens).", path, *loaded);
}

}  // namespace foretoken
