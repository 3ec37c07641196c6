#pragma once
// Every flag by SGLang's name for it (model_path, tp_size, ...) with its resolved value, as
// /server_info and the first log line show them, save that API keys are hidden. Pure functions.

#include <string>
#include <utility>
#include <vector>

#include "app/flags/flag_parser.h"

namespace foretoken {

struct Options;

using ServerArgs = std::vector<std::pair<std::string, std::string>>;  // name, JSON text

ServerArgs list_server_args(const FlagValues& values, const Options& options);

// Replaces the value of an argument that is known only once the model is loaded.
void set_server_arg(ServerArgs& args, const std::string& name, std::string json);

// "ServerArgs(model_path='...', tp_size=1, ...)".
std::string describe_server_args(const ServerArgs& args);

}  // namespace foretoken
