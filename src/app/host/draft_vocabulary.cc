#include "app/host/draft_vocabulary.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/log.h"
#include "checkpoint/model_files.h"
#include "model/decoder/load.h"

namespace foretoken {
namespace {

std::string spelling(const Tokenizer& tokenizer, Token token) {
  const auto text = tokenizer.token_text(token);
  return text ? "'" + *text + "'" : "no token";
}

}  // namespace

VocabularyDifference compare_vocabularies(const Tokenizer& target, const Tokenizer& draft) {
  const auto size = static_cast<Token>(std::max(target.vocab_size(), draft.vocab_size()));
  VocabularyDifference found{.of = size, .first = {}};
  for (Token token = 0; token < size; ++token) {
    if (target.token_text(token) == draft.token_text(token)) continue;
    if (found.tokens++ > 0) continue;
    found.first = fmt::format(
        "target {} tokens, draft {}; token {} is {} for the target and {} for the draft",
        target.vocab_size(), draft.vocab_size(), token, spelling(target, token),
        spelling(draft, token));
  }
  return found;
}

void check_draft_vocabulary(const Tokenizer& target, const Options& options) {
  const std::string& folder = options.draft.folder;
  if (options.draft.algorithm.empty() || folder.empty() || folder == options.load.model_folder)
    return;
  const auto files = open_model_files(folder);
  if (!has_tokenizer(*files)) return;
  const VocabularyDifference difference = compare_vocabularies(target, Tokenizer(*files));
  if (difference.is_another())
    throw Error({.what = "the draft model has another vocabulary than the target",
                 .where = folder,
                 .found = difference.first});
  if (difference.tokens > 0)
    log_warning(
        "{} of {} tokens of the draft model in {} differ from the target's ({}). Drafts of these "
        "are not accepted; answers do not change.",
        difference.tokens, difference.of, folder, difference.first);
}

std::string vocabulary_fault(const std::string& target, const ModelConfig& target_config,
                             const std::string& draft, bool compares_tokens) {
  const auto files = open_model_files(draft);
  if (!has_tokenizer(*files)) return {};
  const ModelConfig config = read_model_config(draft, {.longer_context = LongerContext::kDraft});
  constexpr std::int64_t kPadding = 1024;  // rows behind the last token
  if (std::abs(config.vocab - target_config.vocab) > kPadding)
    return fmt::format("its vocabulary has {} tokens, the target's {}", config.vocab,
                       target_config.vocab);
  if (!compares_tokens) return {};
  const auto difference =
      compare_vocabularies(Tokenizer(*open_model_files(target)), Tokenizer(*files));
  return difference.is_another() ? "it has another vocabulary: " + difference.first : "";
}

}  // namespace foretoken
