#pragma once
// Literals of Python, as some models write the arguments of calls: numbers, strings, True, False,
// None, lists, tuples, dictionaries. Not an evaluator: no names, no operators. Stateless.

#include <optional>
#include <string>
#include <string_view>

namespace foretoken {

// The literal as JSON, nullopt where it is none. JSON's true, false and null are taken, too.
std::optional<std::string> json_of_python(std::string_view text);

}  // namespace foretoken
