#pragma once
// Options of a command line of `foretoken serve`, for tests. They name a model that exists.

#include <string>
#include <vector>

#include "app/flags/flag_table.h"
#include "app/options/resolve_options.h"
#include "base/testing/test_folder.h"

namespace foretoken {

// The model's folder, with nothing in it.
inline const std::string& model_folder() {
  static const TestFolder folder;
  return folder.path();
}

inline Options resolve(std::vector<std::string> args, const Environment& environment = {}) {
  args.insert(args.end(), {"--model", model_folder()});
  return resolve_options(parse_flags(args, serve_flags()), environment);
}

// What is said to its user; "no error" where nothing is.
inline std::string usage_error(const std::vector<std::string>& args) {
  try {
    resolve(args);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace foretoken
