#pragma once
// system_authorities(): the file of certificate authorities that this system keeps. A libcurl that is
// linked statically knows of none. Thread-safe: no state.

#include <string>

namespace foretoken {

// The first of the usual files that is there; empty: none is. root: a folder that stands for "/".
std::string system_authorities(const std::string& root = "");

}  // namespace foretoken
