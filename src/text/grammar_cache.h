#pragma once
// GrammarCache: the compiled grammars of a server, by specification, the least recently used of
// them forgotten first. The vocabulary is made when the first grammar is asked for. Compiling
// runs on the calling thread, outside any lock, so call it where that may take its time; two
// threads that ask for the same new grammar at once both compile it. Thread-safe.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "text/grammar.h"

namespace foretoken {

class GrammarCache {
 public:
  // The tokenizer outlives it. Kept: so many grammars, whose sources have so many bytes together.
  explicit GrammarCache(const Tokenizer& tokenizer, std::size_t most_grammars = 256,
                        std::size_t most_bytes = std::size_t{4} << 20);

  Result<std::shared_ptr<const Grammar>> compile(const GrammarSpec& spec);

  struct Counts {
    std::size_t grammars = 0, bytes = 0;       // kept
    std::size_t compilations = 0, reused = 0;  // since the start
  };
  Counts counts() const;

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<const Grammar> grammar;
  };

  std::shared_ptr<const Grammar> find(const std::string& key);
  void keep(const std::string& key, const std::shared_ptr<const Grammar>& grammar);
  void drop(std::list<Kept>::iterator at);

  const Tokenizer& tokenizer_;
  const std::size_t most_grammars_, most_bytes_;
  std::once_flag once_;
  std::optional<Result<GrammarVocabulary>> vocabulary_;

  mutable std::mutex mutex_;
  std::list<Kept> kept_;  // the most recently used first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_key_;  // views into kept_
  Counts counts_;
};

}  // namespace foretoken
