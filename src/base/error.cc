#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace foretoken {
namespace {

std::string sentence(const Error::Parts& parts) {
  std::string text = parts.what;
  if (!parts.where.empty()) text += " (" + parts.where + ")";
  if (!parts.expected.empty()) text += ": expected " + parts.expected;
  if (!parts.found.empty())
    text += (parts.expected.empty() ? ": found " : ", found ") + parts.found;
  return text;
}

}  // namespace

Error::Error(Parts parts) : std::runtime_error(sentence(parts)), parts_(std::move(parts)) {}

namespace internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  message_ << file << ":" << line << ": CHECK failed: " << condition << " ";
}

CheckFailure::~CheckFailure() {
  std::fprintf(stderr, "%s\n", message_.str().c_str());
  std::abort();
}

}  // namespace internal
}  // namespace foretoken
