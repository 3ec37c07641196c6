#pragma once
// Two calls, f(a="y") and g(), as the models of each family write them. Immutable.

#include <string>
#include <vector>

namespace foretoken {

struct WrittenCalls {
  std::string style;  // the name of the tool parser
  std::string text;
};

const std::vector<WrittenCalls>& two_calls();

}  // namespace foretoken
