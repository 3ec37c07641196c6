// Prints hashes of operations over rows and of products of all kinds of weights, in named orders.
// Usage: operation_bits [ISA]
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/index.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/threads.h"
#include "machines/bits_hash.h"

namespace foretoken::operation_bits {
namespace {

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

}  // namespace
}  // namespace foretoken::operation_bits

int main(int argc, char** argv) {
  foretoken::set_log_level(foretoken::LogLevel::kError);
  const std::string isa = argc > 1 ? argv[1] : "auto";
  foretoken::operation_bits::print_all_rows(isa);
  foretoken::operation_bits::print_products(isa);
}
