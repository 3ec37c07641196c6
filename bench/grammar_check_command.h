#pragma once
// foretoken-bench grammar-check FOLDER: what grammars over that tokenizer's vocabulary take. Reads
// a line of JSON for each question and answers it with one:
//   {"source": SCHEMA or text, "kind": "json_schema", "texts": [...], "samples": 0, "seed": 0}
//   {"verdicts": ["whole", "beginning" or "barred", ...], "samples": [...], "unfinished": 0,
//    "ms": 1}
//   {"refused": "why", "ms": 1}
// Samples are random texts of the grammar. Questions come from tools/check_schemas.py.

#include <span>
#include <string>

namespace foretoken {

int grammar_check_command(std::span<const std::string> args);

}  // namespace foretoken
