#pragma once
// Paths as users write them into variables: "~" and "$NAME" mean what they mean to Python's
// os.path.expandvars(os.path.expanduser(path)). Not a glob, and not a look at the path itself.

#include <map>
#include <string>
#include <string_view>

namespace foretoken {

using Variables = std::map<std::string, std::string, std::less<>>;  // of the environment

// HOME, else the home that the system has for this user; empty: it has none.
std::string home_of(const Variables& variables);

// "~" and "~user" at the beginning, then "$NAME" and "${NAME}"; what is unknown stays as it is.
std::string expanded_path(std::string_view path, const Variables& variables);

}  // namespace foretoken
