#pragma once
// Tiny random models, built in the process: every feature that changes what a row computes, and
// heads whose rows come in near-equal groups, so that the best tokens are all but tied and one bit
// of difference changes the text.

#include <string>
#include <vector>

#include "model/decoder/decoder.h"

namespace foretoken {

struct TinyModel {
  std::string name;
  ModelConfig config;
  DType dtype = DType::kBF16;
  float scale = 1.0F;  // of all matrices, against that which keeps activations at size 1
  bool near_ties = false;
};

std::vector<TinyModel> tiny_models();
// Models whose layers are made of other blocks than those of Llama.
std::vector<TinyModel> block_models();

// Its weights, the same at every call.
std::unique_ptr<WeightSource> tiny_weights(const TinyModel& model);

}  // namespace foretoken
