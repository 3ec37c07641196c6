#pragma once
// From texts of the operator's to the token ids that Corpora take. Thread-safe.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "draft/from_text/ngram/corpus.h"
#include "text/tokenizer.h"

namespace foretoken {

// Puts documents behind each other, kDocumentEnd after each. What is more than `room` tokens is
// refused before more of it is read. Ids outside of the vocabulary end a document, too.
class CorpusText {
 public:
  // is_over: true once the client has gone, which ends the work; null: it never does.
  CorpusText(const Tokenizer& tokenizer, std::int64_t vocab, std::int64_t room,
             const std::atomic<bool>* is_over = nullptr)
      : tokenizer_(tokenizer), vocab_(vocab), room_(room), is_over_(is_over) {}

  // where: names the document in the refusal.
  std::optional<Refusal> add(std::string_view document, const std::string& where);
  std::vector<Token> take() { return std::move(tokens_); }

 private:
  const Tokenizer& tokenizer_;
  const std::int64_t vocab_;
  const std::int64_t room_;
  const std::atomic<bool>* const is_over_;
  std::int64_t count_ = 0;  // without the ends
  std::vector<Token> tokens_;
};

// A JSONL file, each line a JSON string, empty lines apart. No larger than 1 GiB.
Result<std::vector<Token>> read_corpus_file(const std::filesystem::path& path,
                                            const Tokenizer& tokenizer, std::int64_t vocab,
                                            std::int64_t room,
                                            const std::atomic<bool>* is_over = nullptr);

}  // namespace foretoken
