#pragma once
// StateLoops: the inner loops of layers that keep a state, compiled for each width of vectors that a
// machine may have. One source, multiplies and adds apart, in a fixed order: all give the same bits.
// Not the recurrence (host_states.h): no positions, no memory of their own. Pure functions.

#include <cstdint>

#include "backend/gate_curve.h"

namespace foretoken {

struct StateLoops {
  // out[r] [value_dim] = x[r] [key_dim] * state [key_dim, value_dim], added up by rising key_dim.
  void (*read)(const float* state, int key_dim, int value_dim, const float* const* x, int rows,
               float* const* out);
  // The sum in sixteen lanes, added by halves.
  float (*dot)(const float* a, const float* b, int n);
  // out[i] = dot(x, rows[i])
  void (*dots)(const float* x, const float* const* rows, int count, int n, float* out);
  // out[i] = e^(now - before[i]), of differences that are not positive
  void (*decays)(const float* before, int count, float now, float* out);
  // y = factor * x
  void (*scale)(float* y, const float* x, float factor, int n);
  // y += factors[i] * rows[i], i rising
  void (*add_scaled)(float* y, const float* const* rows, const float* factors, int count, int n);
  // to = decay * from + sum over i of keys[i]^T updates[i], i rising; from null: 0; to may be from.
  struct Advance {
    const float* from;
    float* to;
    int key_dim, value_dim;
    float decay;
    const float* const* keys;
    const float* const* updates;
    int items;
  };
  void (*advance)(const Advance& call);
  // out = bias + sum over t of weights[t] * inputs[t], t rising, null inputs being 0; then silu.
  // weights [taps, channels], bias [channels] or null.
  struct Convolution {
    const float* const* inputs;
    const float* weights;
    const float* bias;
    int taps, channels;
    bool has_silu;
  };
  void (*convolve)(const Convolution& call, float* out);
  // x *= curve(gate)
  void (*gate[kGateCurves])(float* x, const float* gate, std::int64_t n);
};

// The widest that this machine has.
const StateLoops& state_loops();

}  // namespace foretoken
