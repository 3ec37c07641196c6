#pragma once
// Layers that keep a state of the text in place of keys and values: gated DeltaNet, Mamba-2, short
// convolutions. What is here: their sizes, their memory, and what one layer reads. Plain data.
//
// A state S [key_dim, value_dim] of a head follows its text token by token; a token t has a query
// q, a key k, a decay e^g (g <= 0) and an update u:
//
//   S(t) = e^g(t) * S(t-1) + k(t) u(t)^T          out(t) = q(t) S(t) + skip * v(t)
//   u(t) = beta(t) * (v(t) - e^g(t) * k(t) S(t-1))   of the delta rule (arXiv:2412.06464)
//   u(t) = dt(t) * v(t)                              of Mamba-2 (arXiv:2405.21060)
//
// It is kept at every kStateTokens-th token only. Between two of these, a block, the keys and
// updates of the block's tokens stand for it. With s the start of the block and G(t) the sum of g
// from s to t:
//
//   q(t) S(t) = e^G(t) * q(t) S(s-1) + sum over i = s .. t of e^(G(t) - G(i)) * (q(t).k(i)) * u(i)
//
// and the same of k(t) S(t-1). So a draft costs what a key and an update take, a draft that fails
// nothing, and a result depends on positions only: chunks, trees and batches do not change a bit.
//
//   position       0 ... 31 | 32 ... 63 | 64 ... 70 | drafts
//   memory                           state          items

#include <cstdint>

#include "batch/state_blocks.h"
#include "tensor/tensor.h"

namespace foretoken {

// Where a token's queries, keys and values lie among the channels of the convolution.
struct RecurrentChannels {
  int query = 0, key = 0, value = 0;
};

struct RecurrentShape {
  int channels = 0;  // of the convolution; 0: there is no such layer
  int taps = 0;      // inputs of the convolution, the token's own included
  int key_heads = 0;
  int value_heads = 0;  // a multiple of key_heads; 0: the layer is the convolution alone
  int key_dim = 0, value_dim = 0;
  RecurrentChannels first = {};
  // Value head h reads key head h % key_heads; else each key head has value_heads / key_heads
  // neighbours.
  bool takes_turns = false;
  bool corrects = false;            // the delta rule; else Mamba-2
  bool normalises_qk = false;       // q and k by 1 / sqrt(x.x + 1e-6), q by 1 / sqrt(key_dim), too
  float least_dt = 0, most_dt = 0;  // bounds of Mamba-2's dt; most 0: none

  bool is_on() const { return channels > 0; }
  bool has_state() const { return value_heads > 0; }
  std::int64_t state_values() const { return std::int64_t{value_heads} * key_dim * value_dim; }
  int key_head_of(int value_head) const {
    return takes_turns ? value_head % key_heads : value_head / (value_heads / key_heads);
  }
};

// The memory of one such layer, float32, two pages for each slot (BatchSeq::state_page). A page
// holds the state behind the tokens before a block, the inputs of the convolution just before it,
// and items: those of the block, and of the nodes of a tree behind them. Behind the pages of slots
// lie snapshots, which have no items.
struct StateLayer {
  RecurrentShape shape;
  Tensor state;    // [pages + snapshots, value_heads, key_dim, value_dim]
  Tensor tail;     // [pages + snapshots, taps - 1, channels]
  Tensor inputs;   // [pages, items, channels], of the convolution
  Tensor keys;     // [pages, items, key_heads * key_dim]
  Tensor updates;  // [pages, items, value_heads * value_dim]
  Tensor decays;   // [pages, items, value_heads]: G

  std::int64_t items() const { return inputs.dim(1); }
};

// From one page of a layer to another; snapshots are the pages from 2 * slots on.
struct StateCopy {
  std::int32_t from = 0, to = 0;
};

// What a layer makes of its rows before they meet the state. All f32.
struct RecurrentRows {
  Tensor inputs;  // [rows, channels]
  Tensor dt;      // [rows, value_heads]: dt = softplus(dt + dt_bias), g = rate * dt
  Tensor beta;    // [rows, value_heads], of corrections: beta = 1 / (1 + e^-beta)
};

// The weights of a layer. All f32.
struct RecurrentWeights {
  Tensor taps;            // [taps, channels], the token's own last
  Tensor taps_bias;       // [channels] or empty
  bool has_silu = false;  // behind the convolution
  Tensor dt_bias = {};    // [value_heads]
  Tensor rate = {};       // [value_heads], below 0
  Tensor skip = {};       // [value_heads] or empty
};

}  // namespace foretoken
