// Prints hashes of what tiny models answer without drafts, in named orders; and whether the usual
// cell of the invariance matrix under every instruction set of this machine answers the same.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/log.h"
#include "invariance/block_weights.h"
#include "invariance/laboratory.h"
#include "invariance/matrix.h"
#include "invariance/request_mix.h"
#include "invariance/tiny_models.h"
#include "kv/kv_dtype.h"
#include "machines/bits_hash.h"
#include "model/decoder/load.h"

namespace foretoken::cell_bits {
namespace {

struct Case {
  std::string order, model;
  std::string quantization = "unquant";
  std::optional<DType> kv_dtype = {};
  std::unique_ptr<WeightSource> (*weights)(const TinyModel& model) = tiny_weights;
  int width = 0;
  std::size_t requests = 5;
};

const Case kCases[] = {
    {"tile", "llama_gqa_near_ties"},
    {"pair", "llama_gqa_near_ties"},
    {"tile", "fp16"},
    {"tile", "fp32_near_ties"},
    {"tile", "llama_gqa_near_ties", "w8a8_int8", DType::kF8E4M3},
    {"pair", "qkv_bias_window_steep", "w4a8-g64", DType::kI8},
    {"tile", "qk_norm_mqa_tied_flat", "fp8", DType::kF8E5M2},
    {"tile", "llama_gqa_near_ties", "int4", {}},
    {"pair", "llama_gqa_near_ties", "", {}, block_weights, 256, 3},
    {"tile", "latent_near_ties", "unquant", {}, tiny_weights, 0, 3},
    {"tile", "states_near_ties", "unquant", {}, tiny_weights, 0, 3},
};

TinyModel model_named(const std::string& name) {
  for (const auto& models : {tiny_models(), block_models()})
    for (const TinyModel& model : models)
      if (model.name == name) return model;
  throw std::invalid_argument("no tiny model " + name);
}

std::string name_of(const Case& one) {
  return "cells " + one.order + " " + one.model + " " + one.quantization +
         (one.weights == tiny_weights ? "" : " stored") +
         (one.kv_dtype ? " " + std::string(kv_dtype_name(*one.kv_dtype)) : "");
}

// The answers of plain decoding, and whether drafting cells of every instruction set give them.
bool print_cells(const Case& one) {
  TinyModel model = model_named(one.model);
  if (one.kv_dtype) model.config.kv_dtype = *one.kv_dtype;
  if (one.width > 0) model.config.hidden = model.config.intermediate = one.width;
  const Quantization quantization = quantization_named(one.quantization, false, "cell_bits");
  Laboratory laboratory(one.order, [&](Ops& ops) {
    return std::make_unique<Decoder>(ops, model.config, *one.weights(model), model.dtype,
                                     quantization);
  });
  auto requests = request_mix(static_cast<std::int64_t>(laboratory.vocab()));
  requests.resize(one.requests);
  const auto base = laboratory.run(Laboratory::base_cell(), requests);
  Hash hash;
  for (const TokenDelta& answer : base) {
    hash.add(answer.prompt_scores);
    hash.add(answer.tokens);
    for (const HiddenState& state : answer.hidden)
      hash.add(std::vector<float>(state.begin(), state.end()));
  }
  print(name_of(one), hash);
  bool is_same = true;
  const auto truth = texts_of(requests, base);
  const Matrix matrix(cpu_isas());
  for (const std::uint64_t number : matrix.isa_sweep()) {
    const Cell cell = matrix.cell(number);
    const std::string difference = first_difference(laboratory.run(cell, requests, truth), base);
    if (difference.empty()) continue;
    is_same = false;
    std::printf("%s, cell %s: %s\n", name_of(one).c_str(), cell.str().c_str(), difference.c_str());
  }
  return is_same;
}

}  // namespace
}  // namespace foretoken::cell_bits

int main() {
  foretoken::set_log_level(foretoken::LogLevel::kError);
  bool are_same = true;
  for (const auto& one : foretoken::cell_bits::kCases)
    are_same = foretoken::cell_bits::print_cells(one) && are_same;
  return are_same ? 0 : 1;
}
