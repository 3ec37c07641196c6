#pragma once
// What the algorithms that run a model share: how a draft head is loaded, which flags have no effect
// on whom, and the drafter that is made of what was loaded. Throws Error; used at start by one
// thread.

#include <memory>
#include <optional>
#include <string_view>

#include "draft/algorithm.h"
#include "model/draft_model.h"
#include "model/heads/drafted_tokens.h"
#include "model/heads/head_config.h"

namespace foretoken {

// One log line where the flag was given.
void warn_without_effect(bool is_given, const char* flag, const char* reason);

// Whether a path holds a language model, or a head with this in the name of its architecture, in
// lower case (empty: any that is no language model). For Algorithm::recognizes.
bool is_language_model(const std::string& path);
bool is_head_called(const std::string& path, std::string_view word);

// Those of --speculative-token-map; nothing: all.
std::optional<DraftedTokens> drafted_tokens(const DraftOptions& options, std::int64_t vocab);

// Throws Error where no draft model was given.
void require_folder(const DraftOptions& options, std::string_view algorithm);

// Throws Error where the folder holds no head of this family made for such a target.
void check_head(const DraftOptions& options, const ModelConfig& target, HeadFamily family);

// A head in a checkpoint of its own.
std::unique_ptr<DraftModel> load_head(Ops& ops, const Decoder& target, const DraftSetup& setup,
                                      HeadFamily family);

// One that reads keys and values of the target (is_query_head).
std::unique_ptr<DraftModel> load_query_head(Ops& ops, const Decoder& target,
                                            const DraftSetup& setup);

// The head that came with the target, or the heads: as many as trees have levels.
std::unique_ptr<DraftModel> load_own_head(Ops& ops, const Decoder& target, const DraftSetup& setup);

// A ModelDrafter.
std::unique_ptr<Drafter> make_model_drafter(PartSetup part);

}  // namespace foretoken
