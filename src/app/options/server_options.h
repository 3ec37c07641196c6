#pragma once
// The server's part of Options: HTTP, limits, names. Pure functions; they throw UsageError.

#include "app/flags/flag_parser.h"
#include "app/options/options.h"

namespace foretoken {

// What every command that runs a model has.
ServerConfig server_config(const FlagValues& values, const LoadOptions& load);

// The HTTP flags; only `serve` has them.
void fill_http(const FlagValues& values, ServerConfig& server);

// The model and its tokenizer by the names that the user gave them.
void name_model(const FlagValues& values, const LoadOptions& load, ServerConfig& server);

}  // namespace foretoken
