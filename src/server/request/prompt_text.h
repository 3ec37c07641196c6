#pragma once
// From the text of a prompt to its tokens, with the limits of what is encoded. Thread-safe.

#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/context/server_context.h"

namespace foretoken {

// Encodes text. Refused: a server without a tokenizer; more text than is tokenized at once.
Result<std::vector<Token>> encode_text(const ServerContext& context, std::string_view text,
                                       AddSpecial special);

// Encodes the text of a prompt. Refused besides: text that cannot fit into the context, told from
// its bytes before the work of encoding it; with --allow-auto-truncate it is cut instead.
Result<std::vector<Token>> encode_prompt(const ServerContext& context, std::string_view text,
                                         AddSpecial special);

}  // namespace foretoken
