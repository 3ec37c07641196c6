#pragma once
// The names under which users ask for weights of fewer bits, and what they mean for the matrices of
// a model. Pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "backend/weight_format.h"

namespace foretoken {

// How the matrices of a model are kept: those of its layers, and those with a row for every token
// (the output matrix, and an embedding that is one), which decide between tokens and are always of
// 8 bits. An embedding that is only looked up, norms and biases stay floats.
struct Quantization {
  std::string name = "unquant";
  WeightFormat layers = {}, head = {};
  std::string stored_method =
      {};  // the checkpoint must be quantized so already; empty: any or none
  bool is_on() const { return layers.is_coded() || head.is_coded(); }
  bool operator==(const Quantization&) const = default;
};

// Every name, "unquant" first.
const std::vector<std::string_view>& quantization_names();

// Those that make codes of any weights, "unquant" first: all but what checkpoints say of
// themselves.
const std::vector<std::string_view>& made_quantizations();

// Empty is "unquant". The quant_method of a checkpoint that is quantized already changes nothing.
// search_scale: tries several scales for each group. Throws Error when the name is unknown; `where`
// is the flag.
Quantization quantization_named(std::string_view name, bool search_scale, std::string_view where);

}  // namespace foretoken
