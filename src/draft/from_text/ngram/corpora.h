#pragma once
// Corpora: the texts of the operator's own that drafts may be taken from, by name. They come and go
// while the server runs; who drafts takes all() and keeps what it has seen for as long as it needs
// it. Not a drafter and not a reader of files: token ids come in. Thread-safe; adding sorts in the
// thread that adds, outside the lock.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "draft/from_text/ngram/corpus.h"

namespace foretoken {

class Corpora {
 public:
  using List = std::vector<std::shared_ptr<const Corpus>>;

  // most_tokens: of all corpora together, below 2^31.
  explicit Corpora(std::int64_t most_tokens) : most_tokens_(most_tokens) {}

  // Host memory that so many tokens may come to take, with one corpus being sorted.
  static std::size_t bytes(std::int64_t most_tokens);

  // Returns the number of its tokens, or why it cannot be: the name is taken, it is empty, too
  // large for what is left, or is_over (may be null) became true, which ends the sorting. tokens:
  // as Corpus takes them.
  Result<std::int64_t> add(const std::string& name, std::vector<Token> tokens,
                           const std::atomic<bool>* is_over = nullptr);
  // Why it would be refused already for its name; nullopt: not for that.
  std::optional<Refusal> refusal_of(const std::string& name) const;
  // nullopt: done.
  std::optional<Refusal> remove(const std::string& name);

  std::vector<std::pair<std::string, std::int64_t>> token_counts() const;
  std::int64_t room() const;  // tokens
  // By name. Never null.
  std::shared_ptr<const List> all() const;

 private:
  struct Entry {
    std::int64_t tokens = 0;
    std::shared_ptr<const Corpus> corpus;  // null: it is being sorted
  };
  class Place;
  std::int64_t room_locked() const;
  std::optional<Refusal> refusal_locked(const std::string& name) const;
  void publish_locked();

  const std::int64_t most_tokens_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::shared_ptr<const List> all_ = std::make_shared<const List>();
};

}  // namespace foretoken
