#pragma once
// The names under which users ask for weights of fewer bits, and what they mean for the matrices of
// a model. Pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "backend/weight_format.h"

namespace foretoken {

// How the matrices of a model are kept: those of its layers, and the one with a row for every token
// (the output matrix, which may be the embedding, too), which decides between tokens and has 8 bits
// unless it was named by itself. An embedding that is only looked up, norms and biases stay floats.
struct Quantization {
  std::string name = "unquant";  // of the layers
  std::string head_name = {};    // of the output matrix, where it was named by itself
  WeightFormat layers = {}, head = {};
  bool keeps_input = false;  // of products with codes as a GGUF file stores them
  std::string stored_method =
      {};  // the checkpoint must be quantized so already; empty: any or none
  bool is_on() const { return layers.is_coded() || head.is_coded(); }
  // "int4", "unquant, output matrix w8a16".
  std::string text() const {
    return name + (head_name.empty() ? "" : ", output matrix " + head_name);
  }
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

// The same with an output matrix of its own kind, one of made_quantizations(); empty: as it is.
Quantization with_head(Quantization quantization, std::string_view name, bool search_scale,
                       std::string_view where);

}  // namespace foretoken
