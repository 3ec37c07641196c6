#pragma once
// Which files the flags of models mean: folders and files of this machine, models of the hub in its
// cache, or models of the hub that are downloaded here and now, with progress on standard error.

#include "app/flags/flag_parser.h"
#include "app/machine/environment.h"
#include "app/options/options.h"

namespace foretoken {

// What stands for --model-path where it is not given.
enum class DefaultModel { kDemo, kNone };

// The environment's, and what --download-dir and --offline say, where the table has them.
HubSettings hub_settings(const FlagValues& values, const Environment& environment);

// model_folder and tokenizer_path. Throws Error.
void find_model(const FlagValues& values, const Environment& environment, DefaultModel usual,
                LoadOptions& load);

// folder, token_map and target_folder of what drafts by a model. Throws Error.
void find_drafts(const FlagValues& values, const Environment& environment,
                 const LoadOptions& target, DraftOptions& draft);

}  // namespace foretoken
