#pragma once
// Shapes of layers that keep a state: gated delta rules, Mamba-2, a convolution alone. For tests only.

#include <ostream>
#include <vector>

#include "backend/recurrent.h"

namespace foretoken {

struct RecurrentKind {
  const char* name;
  RecurrentShape shape;
};
inline void PrintTo(const RecurrentKind& kind, std::ostream* out) { *out << kind.name; }

inline std::vector<RecurrentKind> recurrent_kinds() {
  return {
      {"delta",
       {.channels = 2 * 2 * 16 + 4 * 32,
        .taps = 4,
        .key_heads = 2,
        .value_heads = 4,
        .key_dim = 16,
        .value_dim = 32,
        .first = {.query = 0, .key = 32, .value = 64},
        .corrects = true,
        .normalises_qk = true}},
      {"delta_in_turn",
       {.channels = 2 * 2 * 8 + 6 * 10,
        .taps = 3,
        .key_heads = 2,
        .value_heads = 6,
        .key_dim = 8,
        .value_dim = 10,
        .first = {.query = 0, .key = 16, .value = 32},
        .takes_turns = true,
        .corrects = true,
        .normalises_qk = true}},
      {"mamba",
       {.channels = 2 * 9 + 3 * 21,
        .taps = 3,
        .key_heads = 1,
        .value_heads = 3,
        .key_dim = 9,
        .value_dim = 21,
        .first = {.query = 72, .key = 63, .value = 0}}},
      {"mamba_groups",
       {.channels = 2 * 3 * 7 + 6 * 11,
        .taps = 4,
        .key_heads = 3,
        .value_heads = 6,
        .key_dim = 7,
        .value_dim = 11,
        .first = {.query = 66 + 21, .key = 66, .value = 0}}},
      {"convolution", {.channels = 37, .taps = 5}},
  };
}

}  // namespace foretoken
