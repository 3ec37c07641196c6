#pragma once
// What tools/golden/make_draft_golden.py wrote: tiny random targets with draft heads, and what the
// heads propose by an independent computation. For tests only.

#include <ostream>
#include <string>
#include <vector>

#include "base/types.h"

namespace foretoken {

struct DraftCase {
  struct Child {
    Token token;
    int parent;  // in the level above; -1: the root
    double score;
    bool operator==(const Child&) const = default;
  };
  std::string name, algorithm;
  std::string target, head;  // folders; head: empty: it is in the target's checkpoint
  std::vector<Token> tokens;
  Token root = 0;
  std::string token_map;                // file; empty: none
  std::vector<Child> level_1, level_2;  // best first
  std::vector<Token> path;              // the best children all the way down; may be empty
  std::vector<std::vector<float>> way;  // logits of the root, and of all but the last of path
  std::vector<std::vector<float>> first, second;  // logits of the root, and of level_1
};
inline void PrintTo(const DraftCase& draft, std::ostream* out) { *out << draft.name; }

std::vector<DraftCase> read_draft_cases();

}  // namespace foretoken
