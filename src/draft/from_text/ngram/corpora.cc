#include "draft/from_text/ngram/corpora.h"

#include <algorithm>

#include <fmt/format.h>

namespace foretoken {
namespace {

// Their ends would take memory that nobody counts.
void drop_empty_documents(std::vector<Token>& tokens) {
  const auto both_end = [](Token a, Token b) { return a == kDocumentEnd && b == kDocumentEnd; };
  tokens.erase(std::ranges::unique(tokens, both_end).begin(), tokens.end());
  if (!tokens.empty() && tokens.front() == kDocumentEnd) tokens.erase(tokens.begin());
  tokens.shrink_to_fit();
}

}  // namespace

// The name and the tokens of a corpus that is being sorted; given back where that fails.
class Corpora::Place {
 public:
  Place(Corpora& corpora, const std::string& name) : corpora_(corpora), name_(name) {}
  ~Place() {
    if (is_filled_) return;
    const std::lock_guard lock(corpora_.mutex_);
    corpora_.entries_.erase(name_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void fill(std::shared_ptr<const Corpus> corpus) {
    const std::lock_guard lock(corpora_.mutex_);
    corpora_.entries_.at(name_).corpus = std::move(corpus);
    corpora_.publish_locked();
    is_filled_ = true;
  }

 private:
  Corpora& corpora_;
  const std::string& name_;
  bool is_filled_ = false;
};

std::size_t Corpora::bytes(std::int64_t most_tokens) {
  constexpr std::size_t kWithEnd = 2;  // a token and the end of its document
  return static_cast<std::size_t>(most_tokens) * (kWithEnd * sizeof(Token) + sizeof(std::int32_t));
}

Result<std::int64_t> Corpora::add(const std::string& name, std::vector<Token> tokens,
                                  const std::atomic<bool>* is_over) {
  drop_empty_documents(tokens);
  const auto count =
      static_cast<std::int64_t>(tokens.size()) - std::ranges::count(tokens, kDocumentEnd);
  if (count == 0) return Refusal{fmt::format("External corpus '{}' has no tokens.", name)};
  {
    const std::lock_guard lock(mutex_);
    if (auto refusal = refusal_locked(name)) return *std::move(refusal);
    if (count > room_locked())
      return Refusal{
          fmt::format("External corpus '{}' has {} tokens, which is more than the {} that are left "
                      "of --speculative-ngram-external-corpus-max-tokens ({}).",
                      name, count, room_locked(), most_tokens_)};
    entries_[name].tokens = count;
  }
  Place place(*this, name);
  auto corpus = std::make_shared<const Corpus>(std::move(tokens), is_over);
  if (corpus->num_tokens() == 0)
    return Refusal{fmt::format("External corpus '{}': the server is shutting down.", name), 503};
  place.fill(std::move(corpus));
  return count;
}

std::optional<Refusal> Corpora::refusal_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return refusal_locked(name);
}

std::optional<Refusal> Corpora::refusal_locked(const std::string& name) const {
  if (!entries_.contains(name)) return std::nullopt;
  return Refusal{fmt::format("External corpus '{}' already exists. Remove it first.", name)};
}

std::optional<Refusal> Corpora::remove(const std::string& name) {
  std::shared_ptr<const Corpus> removed;  // may be freed here, outside the lock
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || !found->second.corpus)
    return Refusal{fmt::format("External corpus '{}' is not loaded.", name)};
  removed = std::move(found->second.corpus);
  entries_.erase(found);
  publish_locked();
  return std::nullopt;
}

std::vector<std::pair<std::string, std::int64_t>> Corpora::token_counts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const auto& [name, entry] : entries_)
    if (entry.corpus) counts.emplace_back(name, entry.tokens);
  return counts;
}

std::int64_t Corpora::room() const {
  const std::lock_guard lock(mutex_);
  return room_locked();
}

std::shared_ptr<const Corpora::List> Corpora::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

std::int64_t Corpora::room_locked() const {
  std::int64_t room = most_tokens_;
  for (const auto& [name, entry] : entries_) room -= entry.tokens;
  return room;
}

void Corpora::publish_locked() {
  auto list = std::make_shared<List>();
  for (const auto& [name, entry] : entries_)
    if (entry.corpus) list->push_back(entry.corpus);
  all_ = std::move(list);
}

}  // namespace foretoken
