#include "text/grammar_cache.h"

#include <utility>

namespace foretoken {
namespace {

// Different for different specifications: the parts before the source say how long they are.
std::string key_of(const GrammarSpec& spec) {
  const std::string& pattern = spec.layout.whitespace_pattern.value_or("");
  return std::to_string(static_cast<int>(spec.kind)) + (spec.layout.is_compact ? "c" : "f") +
         std::to_string(static_cast<int>(spec.tail)) + (spec.is_balanced ? "b" : "u") +
         (spec.layout.whitespace_pattern ? std::to_string(pattern.size()) : std::string("-")) +
         ":" + pattern + spec.source;
}

}  // namespace

GrammarCache::GrammarCache(const Tokenizer& tokenizer, std::size_t most_grammars,
                           std::size_t most_bytes)
    : tokenizer_(tokenizer), most_grammars_(most_grammars), most_bytes_(most_bytes) {}

Result<std::shared_ptr<const Grammar>> GrammarCache::compile(const GrammarSpec& spec) {
  const std::string key = key_of(spec);
  if (auto found = find(key)) return found;
  std::call_once(once_, [this] { vocabulary_.emplace(GrammarVocabulary::of(tokenizer_)); });
  if (!*vocabulary_) return vocabulary_->refusal();
  auto grammar = Grammar::compile(**vocabulary_, spec);
  if (grammar) keep(key, *grammar);
  return grammar;
}

std::shared_ptr<const Grammar> GrammarCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return nullptr;
  if (at->second->grammar->is_spoiled()) {
    drop(at->second);
    return nullptr;
  }
  ++counts_.reused;
  kept_.splice(kept_.begin(), kept_, at->second);
  return kept_.front().grammar;
}

void GrammarCache::keep(const std::string& key, const std::shared_ptr<const Grammar>& grammar) {
  const std::lock_guard lock(mutex_);
  ++counts_.compilations;
  if (key.size() > most_bytes_) return;
  if (const auto at = by_key_.find(key); at != by_key_.end()) drop(at->second);
  kept_.push_front({key, grammar});
  by_key_.emplace(kept_.front().key, kept_.begin());
  counts_.bytes += key.size();
  while (kept_.size() > most_grammars_ || counts_.bytes > most_bytes_) drop(std::prev(kept_.end()));
}

void GrammarCache::drop(std::list<Kept>::iterator at) {
  counts_.bytes -= at->key.size();
  by_key_.erase(at->key);
  kept_.erase(at);
}

GrammarCache::Counts GrammarCache::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.grammars = kept_.size();
  return counts;
}

}  // namespace foretoken
