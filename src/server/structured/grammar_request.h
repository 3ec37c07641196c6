#pragma once
// What a request wants its output to be: the fields of SGLang (json_schema, regex, ebnf,
// structural_tag), OpenAI (response_format) and vLLM (structured_outputs, guided_*), as one
// specification. Not their meaning: that is found when it is compiled. Pure functions.

#include <optional>
#include <string>

#include "base/types.h"
#include "server/json/json_fields.h"
#include "text/grammar.h"

namespace foretoken {

struct GrammarRequest {
  GrammarSpec spec;
  std::string field;  // that asked for it, for messages
};

// Nullopt: any text will do, or the fields are at fault. `layout`: of JSON, unless the request has
// wishes of its own.
std::optional<GrammarRequest> read_grammar(Fields& fields, const JsonLayout& layout);

}  // namespace foretoken
