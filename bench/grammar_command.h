#pragma once
// foretoken-bench grammar FOLDER: what grammars cost over the vocabulary of that tokenizer: to
// compile, and at each token of a text: a mask, a single token's answer, moving on, looking ahead.

#include <span>
#include <string>

namespace foretoken {

int grammar_command(std::span<const std::string> args);

}  // namespace foretoken
