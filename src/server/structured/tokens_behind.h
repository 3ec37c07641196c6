#pragma once
// Text that goes on behind tokens, cut into tokens. Pure functions.

#include <span>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "text/tokenizer.h"

namespace foretoken {

// The tokens of `text` behind the tokens of `tail`, as the tokenizer would cut both together; none
// where it would cut across the border.
std::vector<Token> tokens_behind(const Tokenizer& tokenizer, std::span<const Token> tail,
                                 std::string_view text);

// The same, and where it would cut across the border as it cuts the text alone.
std::vector<Token> tokens_near(const Tokenizer& tokenizer, std::span<const Token> tail,
                               std::string_view text);

}  // namespace foretoken
