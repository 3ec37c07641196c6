#include "model/config/quantization.h"

#include <array>

#include "base/error.h"

namespace foretoken {
namespace {

struct Named {
  std::string_view name;
  int bits;
  std::int64_t group;
  bool rounds_input;
  bool is_float = false;
};
constexpr std::array<Named, 10> kNamed{{{"unquant", 0, 0, false},
                                        {"w8a8_int8", 8, 0, true},
                                        {"w8a16", 8, 0, false},
                                        {"fp8", 8, 0, false, true},
                                        {"int4", 4, 32, false},
                                        {"int4-g64", 4, 64, false},
                                        {"int4-g128", 4, 128, false},
                                        {"w4a8", 4, 32, true},
                                        {"w4a8-g64", 4, 64, true},
                                        {"w4a8-g128", 4, 128, true}}};

// What checkpoints say of themselves, also by the names that SGLang's kernels for them have.
struct Stored {
  std::string_view name, method;
};
constexpr std::array<Stored, 9> kStored{{{"awq", "awq"},
                                         {"gptq", "gptq"},
                                         {"auto-round", "auto-round"},
                                         {"compressed-tensors", "compressed-tensors"},
                                         {"modelopt", "modelopt"},
                                         {"awq_marlin", "awq"},
                                         {"gptq_marlin", "gptq"},
                                         {"modelopt_fp8", "modelopt"},
                                         {"gguf", "gguf"}}};

}  // namespace

const std::vector<std::string_view>& quantization_names() {
  static const auto names = [] {
    std::vector<std::string_view> all = made_quantizations();
    for (const Stored& stored : kStored) all.push_back(stored.name);
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
                              .searches_scale = search_scale,
                              .is_float = named.is_float};
    const WeightFormat head{.bits = 8,
                            .rounds_input = named.rounds_input,
                            .searches_scale = search_scale,
                            .is_float = named.is_float};
    return {.name = std::string(name), .layers = layers, .head = head};
  }
  for (const Stored& stored : kStored) {
    known += ", " + std::string(stored.name);
    if (stored.name == name)
      return {.name = std::string(name), .stored_method = std::string(stored.method)};
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
