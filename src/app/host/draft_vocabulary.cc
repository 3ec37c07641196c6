#include "app/host/draft_vocabulary.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace foretoken {
namespace {

std::string spelling(const Tokenizer& tokenizer, Token token) {
  const auto text = tokenizer.token_text(token);
  return text ? "'" + *text + "'" : "no token";
}

bool has_tokenizer(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::ranges::any_of(
      std::initializer_list<const char*>{"tokenizer.json", "tokenizer.model", "vocab.json"},
      [&](const char* name) { return std::filesystem::exists(folder / name, ignored); });
}

}  // namespace

std::string vocabulary_difference(const Tokenizer& target, const Tokenizer& draft) {
  const auto size = static_cast<Token>(std::max(target.vocab_size(), draft.vocab_size()));
  for (Token token = 0; token < size; ++token) {
    if (target.token_text(token) == draft.token_text(token)) continue;
    return fmt::format(
        "target {} tokens, draft {}; token {} is {} for the target and {} for the draft",
        target.vocab_size(), draft.vocab_size(), token, spelling(target, token),
        spelling(draft, token));
  }
  return {};
}

void check_draft_vocabulary(const Tokenizer& target, const Options& options) {
  const std::string& folder = options.draft.folder;
  if (options.draft.algorithm.empty() || folder.empty() || folder == options.load.model_folder ||
      !has_tokenizer(folder))
    return;
  const std::string difference = vocabulary_difference(target, Tokenizer(folder));
  if (!difference.empty())
    throw Error({.what = "the draft model has another vocabulary than the target",
                 .where = folder,
                 .found = difference});
}

}  // namespace foretoken
