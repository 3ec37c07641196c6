// Prints what this machine computes as lines "what hash": operations over rows, products of all
// kinds of weights, and cells of the invariance matrix in named orders. Two machines that keep the
// promise of equal bits print the same, whatever instructions they have.
// Usage: machine_bits [ISA of the operations]; cells take all that the machine has.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/quantize.h"
#include "base/index.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/threads.h"
#include "invariance/block_weights.h"
#include "invariance/laboratory.h"
#include "invariance/matrix.h"
#include "invariance/request_mix.h"
#include "invariance/tiny_models.h"
#include "kv/kv_dtype.h"
#include "model/decoder/load.h"

namespace foretoken::machine_bits {
namespace {

// FNV-1a of 64 bits. All NaN are one: which bits they have is not promised.
class Hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ (word >> (8 * i) & 0xff)) * 0x100000001b3U;
  }
  void add(float value) {
    add(std::uint64_t{std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value)});
  }
  void add(const std::vector<float>& values) {
    for (const float value : values) add(value);
  }
  void add(const std::vector<SampledToken>& tokens) {
    add(std::uint64_t{tokens.size()});
    for (const SampledToken& token : tokens) {
      add(static_cast<std::uint64_t>(token.token));
      add(token.logprob);
      for (const TopLogprob& top : token.top) {
        add(static_cast<std::uint64_t>(top.token));
        add(top.logprob);
      }
      add(token.token_logprobs);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

void print(const std::string& what, const Hash& hash) {
  std::printf("%s %016llx\n", what.c_str(), static_cast<unsigned long long>(hash.value()));
  std::fflush(stdout);
}

// Within +-2 times a power of two that reaches into the denormals now and then.
std::vector<float> values(std::size_t count, std::uint64_t seed) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix_seed(seed, i);
    const double unit = static_cast<double>(bits >> 11U) * 0x1p-52 * 2.0 - 2.0;
    out[i] = static_cast<float>(std::ldexp(unit, bits % 61 == 0 ? -128 : 0));
  }
  return out;
}

Tensor matrix(std::vector<float>& data, std::int64_t rows) {
  return Tensor(data.data(), DType::kF32, {rows, static_cast<std::int64_t>(data.size()) / rows});
}

struct Device {
  Device(const std::string& isa, const std::string& order)
      : ops(make_backend({.device = "cpu", .cpu_isa = isa, .gemm_order = order}, pool)) {}
  ThreadPool pool{2, false};
  std::unique_ptr<Ops> ops;
};

// ---- Operations over rows -----------------------------------------------------------------------

using RowOp = std::function<void(Ops&, Tensor a, Tensor pairs, Tensor weight, Tensor out)>;

void print_rows(const std::string& isa, const std::string& name, const RowOp& op) {
  Device device(isa, "tile");
  Hash hash;
  for (const std::int64_t rows : {1, 3, 70})
    for (const std::int64_t width : {1, 15, 16, 17, 129, 1000}) {
      auto a = values(at(rows * width), 1), pairs = values(at(2 * rows * width), 2);
      auto weight = values(at(width), 3);
      for (float& value : pairs) value *= 5.0F;
      std::vector<float> out(a.size());
      op(*device.ops, matrix(a, rows), matrix(pairs, rows),
         Tensor(weight.data(), DType::kF32, {width}), matrix(out, rows));
      hash.add(a);
      hash.add(out);
    }
  print("rows " + name, hash);
}

void print_all_rows(const std::string& isa) {
  print_rows(isa, "norm",
             [](Ops& ops, Tensor a, Tensor, Tensor w, Tensor out) { ops.norm(a, w, 1e-6F, out); });
  const std::pair<const char*, Activation> activations[] = {
      {"silu", Activation::kSilu},
      {"gelu_tanh", Activation::kGeluTanh},
      {"gelu", Activation::kGelu},
      {"clamped_swiglu", Activation::kClampedSwiglu}};
  for (const auto& [name, activation] : activations)
    print_rows(isa, name, [act = activation](Ops& ops, Tensor, Tensor pairs, Tensor, Tensor out) {
      ops.gated_act(pairs, act, out);
    });
  print_rows(isa, "scale", [](Ops& ops, Tensor a, Tensor, Tensor, Tensor) { ops.scale(a, 0.22F); });
  print_rows(isa, "soft_cap",
             [](Ops& ops, Tensor a, Tensor, Tensor, Tensor) { ops.soft_cap(a, 3.0F); });
  print_rows(isa, "top_tokens", [](Ops& ops, Tensor a, Tensor, Tensor, Tensor out) {
    TopTokens top;
    ops.top_tokens(a, static_cast<int>(std::min<std::int64_t>(a.dim(1), 4)), top);
    for (std::size_t i = 0; i < top.token.size(); ++i)
      out.f32()[i] = top.probability[i] + static_cast<float>(top.token[i]);
  });
}

// ---- Products -----------------------------------------------------------------------------------

struct Weights {
  std::string name;
  DType dtype = DType::kBF16;
  WeightFormat format = {};
};

std::vector<Weights> all_weights() {
  std::vector<Weights> all{{"bf16"}, {"fp16", DType::kF16}, {"fp32", DType::kF32}};
  for (const bool rounds : {true, false})
    for (const std::int64_t group : {0, 32, 128})
      for (const int bits : {8, 4})
        all.push_back({"int" + std::to_string(bits) + (rounds ? " rounded" : " kept") +
                           " groups of " + std::to_string(group),
                       DType::kBF16,
                       {.bits = bits,
                        .group = group,
                        .scale = group == 0 ? DType::kF32 : DType::kBF16,
                        .rounds_input = rounds}});
  all.push_back({"e4m3", DType::kBF16, {.bits = 8, .is_float = true}});
  return all;
}

void print_products(const std::string& isa) {
  constexpr std::int64_t kOut = 77;
  for (const std::string order : {"tile", "pair"}) {
    Device device(isa, order);
    for (const Weights& weights : all_weights()) {
      Hash hash;
      for (const std::int64_t in : {7, 161, 640}) {
        auto w = values(at(kOut * in), 4);
        const Tensor weight = matrix(w, kOut);
        const auto packed = device.ops->pack({.weights = std::span(&weight, 1),
                                              .biases = {},
                                              .dtype = weights.dtype,
                                              .format = weights.format});
        for (const std::int64_t rows : {1, 2, 5, 18, 40}) {
          auto x = values(at(rows * in), 6);
          std::vector<float> y(at(rows * kOut));
          device.ops->linear(*packed, matrix(x, rows), matrix(y, rows));
          hash.add(y);
        }
      }
      print("product " + order + " " + weights.name, hash);
    }
  }
}

// ---- Cells --------------------------------------------------------------------------------------

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
void print_cells(const Case& one) {
  TinyModel model = model_named(one.model);
  if (one.kv_dtype) model.config.kv_dtype = *one.kv_dtype;
  if (one.width > 0) model.config.hidden = model.config.intermediate = one.width;
  const Quantization quantization = quantization_named(one.quantization, false, "machine_bits");
  Laboratory laboratory(one.order, [&](Ops& ops) {
    return std::make_unique<Decoder>(ops, model.config, *one.weights(model), model.dtype,
                                     quantization);
  });
  auto requests = request_mix(static_cast<std::int64_t>(laboratory.vocab()));
  requests.resize(one.requests);
  const auto base = laboratory.run(Laboratory::base_cell(), requests);
  Hash hash;
  std::vector<std::vector<Token>> truth;
  for (std::size_t i = 0; i < base.size(); ++i) {
    hash.add(base[i].prompt_scores);
    hash.add(base[i].tokens);
    for (const HiddenState& state : base[i].hidden)
      hash.add(std::vector<float>(state.begin(), state.end()));
    truth.push_back(requests[i].prompt.to_vector());
    for (const SampledToken& token : base[i].tokens) truth.back().push_back(token.token);
  }
  print(name_of(one), hash);
  const Matrix matrix(available_isas());
  for (const std::uint64_t number : matrix.isa_sweep()) {
    const Cell cell = matrix.cell(number);
    const std::string difference = first_difference(laboratory.run(cell, requests, truth), base);
    if (difference.empty()) continue;
    std::printf("%s, cell %s: %s\n", name_of(one).c_str(), cell.str().c_str(), difference.c_str());
  }
}

}  // namespace
}  // namespace foretoken::machine_bits

int main(int argc, char** argv) {
  using namespace foretoken::machine_bits;
  foretoken::set_log_level(foretoken::LogLevel::kError);
  const std::string isa = argc > 1 ? argv[1] : "auto";
  print_all_rows(isa);
  print_products(isa);
  if (argc > 1) return 0;
  for (const Case& one : kCases) print_cells(one);
}
