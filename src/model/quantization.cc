#include "model/quantization.h"

#include <array>

#include "base/error.h"

namespace foretoken {
namespace {

struct Named {
  std::string_view name;
  int bits;
  std::int64_t group;
  bool rounds_input;
};
constexpr std::array<Named, 9> kNamed{{{"unquant", 0, 0, false},
                                       {"w8a8_int8", 8, 0, true},
                                       {"w8a16", 8, 0, false},
                                       {"int4", 4, 32, false},
                                       {"int4-g64", 4, 64, false},
                                       {"int4-g128", 4, 128, false},
                                       {"w4a8", 4, 32, true},
                                       {"w4a8-g64", 4, 64, true},
                                       {"w4a8-g128", 4, 128, true}}};

// What checkpoints say of themselves.
constexpr std::array<std::string_view, 4> kStored{"awq", "gptq", "compressed-tensors", "fp8"};

}  // namespace

const std::vector<std::string_view>& quantization_names() {
  static const auto names = [] {
    std::vector<std::string_view> all = made_quantizations();
    all.insert(all.end(), kStored.begin(), kStored.end());
    return all;
  }();
  return names;
}

const std::vector<std::string_view>& made_quantizations() {
  static const auto names = [] {
    std::vector<std::string_view> made;
    for (const Named& named : kNamed) made.push_back(named.name);
    return made;
  }();
  return names;
}

Quantization quantization_named(std::string_view name, bool search_scale, std::string_view where) {
  if (name.empty()) name = kNamed[0].name;
  std::string known;
  for (const Named& named : kNamed) {
    known += (known.empty() ? "" : ", ") + std::string(named.name);
    if (named.name != name) continue;
    if (named.bits == 0) return {};
    // Scales of groups are bf16: the codes are chosen for the rounded scale, so that costs nothing.
    const WeightFormat layers{.bits = named.bits,
                              .group = named.group,
                              .scale = named.group == 0 ? DType::kF32 : DType::kBF16,
                              .rounds_input = named.rounds_input,
                              .searches_scale = search_scale};
    const WeightFormat head{
        .bits = 8, .rounds_input = named.rounds_input, .searches_scale = search_scale};
    return {.name = std::string(name), .layers = layers, .head = head};
  }
  for (const std::string_view method : kStored) {
    known += ", " + std::string(method);
    if (method == name) return {.name = std::string(name), .stored_method = std::string(name)};
  }
  throw Error({.what = "unknown quantization",
               .where = std::string(where),
               .expected = known,
               .found = std::string(name)});
}

Quantization with_head(Quantization quantization, std::string_view name, bool search_scale,
                       std::string_view where) {
  if (name.empty()) return quantization;
  quantization.head = quantization_named(name, search_scale, where).layers;
  quantization.head_name = name;
  return quantization;
}

}  // namespace foretoken
