#pragma once
// Mixtures of experts: an MLP made of many small gated MLPs, the experts, of which each row uses a
// few. Plain data.
//
//   x -- router (linear) --> logits -- route --> chosen, weights --+
//   x ---------------------------------------------------- mix_experts --> out

#include "backend/router_score.h"
#include "backend/weights.h"

namespace foretoken {

// How the experts of a row, and the weight of each, follow from the router's logits:
//
//   score = softmax or sigmoid of the logits, or the logits
//   chosen: the largest score + bias; of groups, where there are any, only in the best of them
//   weight = score, divided by the sum of the chosen where they are normalised, times scale, times
//            the expert's own scale where it has one
//
// Of equals the expert of the lower number is taken.
struct Routing {
  int experts = 0;
  int chosen = 0;  // by each row, <= experts
  RouterScore score = RouterScore::kSoftmax;
  bool normalises = false;
  float scale = 1;
  // Neighbouring experts form groups of equal size; experts are chosen from kept_groups of them. A
  // group's score is the sum of its group_tops largest.
  int groups = 1, kept_groups = 1, group_tops = 1;
};

// What a router has for each expert beside its matrix: float32 [experts], or empty.
struct RouterVectors {
  Tensor bias;   // added to scores while experts are chosen
  Tensor scale;  // of the weights
};

// One expert: down(act(gate(x)) * up(x)), with the rows of gate and up one after the other.
struct ExpertLinears {
  const PackedLinear* gate_up;
  const PackedLinear* down;
};

}  // namespace foretoken
