#pragma once
// RecurrentBlocks: the layers of a model that keep a state in place of keys and values, as plain
// values (backend/recurrent.h computes them). Families fill them in; RecurrentBlock computes with
// them. Plain data.
//
//   x --> inputs --> [* input_gate] --> convolution --> [state, with dt and beta]
//     --> [norm of heads] --> * curve(gate) --> [norm of groups] --> out_proj

#include <string_view>
#include <vector>

#include "backend/gate_curve.h"
#include "backend/recurrent.h"

namespace foretoken {

// Rows of a matrix of the checkpoint: `blocks` pieces of `rows` rows, the first at `first`, each
// `step` rows behind the one before.
struct StoredRows {
  std::string_view name;  // behind the layer's prefix, without ".weight"; empty: there are none
  int first = 0, rows = 0, step = 0, blocks = 1;
  int stored = 0;  // rows that the matrix has in all
};

struct RecurrentNames {
  std::string_view block;  // "linear_attn.", behind the layer's prefix
  std::string_view taps = "conv1d";
  std::string_view norm = "norm";
  std::string_view out = "out_proj";
};

struct RecurrentBlocks {
  std::vector<bool> layers = {};  // which keep a state; empty: none
  RecurrentShape shape = {};
  RecurrentNames names = {};
  std::vector<StoredRows> inputs = {};  // of the convolution, in the order of its channels
  StoredRows input_gate = {};           // inputs are multiplied by it
  std::vector<StoredRows> gate = {};
  StoredRows dt = {}, beta = {};
  bool has_silu = false;       // behind the convolution
  bool has_taps_bias = false;  // of the convolution
  bool has_bias = false;       // of the products
  bool has_skip = false;       // "D"
  GateCurve gate_curve = GateCurve::kNone;
  bool norms_heads = false;  // before the gate
  int norm_groups = 0;       // parts of a row that are normed behind it; 0: none

  bool are_in(int layer) const {
    return !layers.empty() && layers.at(static_cast<std::size_t>(layer));
  }
  int out_width() const {
    return shape.has_state() ? shape.value_heads * shape.value_dim : shape.channels;
  }
};

}  // namespace foretoken
