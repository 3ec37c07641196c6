#include "model/stored_quantization.h"

#include <algorithm>
#include <stdexcept>

#include <boost/json.hpp>
#include <boost/regex.hpp>

#include "base/error.h"
#include "base/file_fields.h"

namespace foretoken {
namespace {

using Kind = StoredQuantization::Kind;
constexpr IntRange kBits{1, 64};
constexpr IntRange kGroup{-1, 1 << 20};

[[noreturn]] void refuse(const FileFields& fields, const std::string& what,
                         const std::string& expected, const std::string& found) {
  throw Error({what + " of quantized weights is not supported", fields.where(), expected, found});
}

std::int64_t group_of(const FileFields& fields, std::string_view key, std::int64_t fallback) {
  const std::int64_t group = fields.integer(key, kGroup).value_or(fallback);
  if (group == -1 || group == 0) return 0;
  if (group < 0 || group % 32 != 0) fields.refuse(key, "-1 or a multiple of 32");
  return group;
}

void take_bits(const FileFields& fields, std::string_view key, StoredQuantization& stored) {
  stored.bits = static_cast<int>(fields.integer(key, kBits).value_or(4));
  if (stored.bits != 4 && stored.bits != 8) fields.refuse(key, "4 or 8");
}

void take_names(const FileFields& fields, std::string_view key, StoredQuantization& stored) {
  if (const auto names = fields.strings(key))
    stored.ignore.insert(stored.ignore.end(), names->begin(), names->end());
}

StoredQuantization parse_awq(const FileFields& fields) {
  StoredQuantization stored{.kind = Kind::kAwq};
  take_bits(fields, fields.has("w_bit") ? "w_bit" : "bits", stored);
  if (stored.bits != 4) refuse(fields, "this width", "4 bits", std::to_string(stored.bits));
  const std::string version = fields.string("version").value_or("gemm");
  if (version != "gemm" && version != "GEMM") refuse(fields, "this version", "gemm", version);
  stored.group = group_of(fields, fields.has("q_group_size") ? "q_group_size" : "group_size", 128);
  stored.is_symmetric = !fields.boolean("zero_point").value_or(true);
  if (stored.is_symmetric) refuse(fields, "this kind", "zero_point true", "false");
  take_names(fields, "modules_to_not_convert", stored);
  return stored;
}

StoredQuantization parse_gptq(const FileFields& fields) {
  StoredQuantization stored{.kind = Kind::kGptq};
  take_bits(fields, "bits", stored);
  stored.group = group_of(fields, "group_size", 128);
  stored.is_symmetric = false;  // zero points are always stored
  stored.has_g_idx = fields.boolean("desc_act").value_or(false);
  const std::string format = fields.string("checkpoint_format").value_or("gptq");
  if (format != "gptq" && format != "gptq_v2")
    refuse(fields, "this format", "gptq or gptq_v2", format);
  stored.zeros_are_less_one = format == "gptq";
  if (const auto* dynamic = fields.object("dynamic"); dynamic != nullptr && !dynamic->empty())
    refuse(fields, "a format for each layer (dynamic)", {}, {});
  take_names(fields, "modules_to_not_convert", stored);
  return stored;
}

StoredQuantization parse_fp8(const FileFields& fields) {
  StoredQuantization stored{.kind = Kind::kFp8, .bits = 8};
  const std::string format = fields.string("fmt").value_or("e4m3");
  if (format != "e4m3") refuse(fields, "this format", "e4m3", format);
  if (const auto block = fields.integers("weight_block_size", {1, 1 << 16}); !block.empty()) {
    if (block.size() != 2) fields.refuse("weight_block_size", "rows and columns");
    stored.block_rows = block[0];
    stored.block_columns = block[1];
  }
  for (const char* key : {"modules_to_not_convert", "ignored_layers"})
    take_names(fields, key, stored);
  return stored;
}

// SGLang's own name for int8 weights by row.
StoredQuantization parse_w8a8(const FileFields& fields) {
  StoredQuantization stored{.kind = Kind::kInt8, .bits = 8, .rounds_input = true};
  take_names(fields, "ignore", stored);
  return stored;
}

// What is done to the input: nothing, or 8 bits by row as it comes.
void take_input(const FileFields& group, StoredQuantization& stored) {
  const auto* object = group.object("input_activations");
  if (object == nullptr) return;
  const FileFields input(*object, group.where() + ", input_activations");
  const auto bits = input.integer("num_bits", kBits).value_or(8);
  const std::string type = input.string("type").value_or("int");
  if (bits != 8) refuse(input, "input of this width", "8 bits", std::to_string(bits));
  if (stored.kind == Kind::kFp8) return;  // inputs are kept, see docs/quantization.md
  if (type != "int") refuse(input, "input of this type", "int", type);
  if (!input.boolean("dynamic").value_or(false))
    refuse(input, "input with a scale of its own", "dynamic true", "false");
  if (!input.boolean("symmetric").value_or(true))
    refuse(input, "input with zero points", "symmetric true", "false");
  if (const auto strategy = input.string("strategy").value_or("token"); strategy != "token")
    refuse(input, "input of this strategy", "token", strategy);
  if (stored.kind != Kind::kInt8)
    refuse(input, "input of 8 bits beside packed weights", "none", "8 bits");
  stored.rounds_input = true;
}

void take_weights(const FileFields& weights, const std::string& format,
                  StoredQuantization& stored) {
  take_bits(weights, "num_bits", stored);
  const std::string type = weights.string("type").value_or("int"),
                    strategy = weights.string("strategy").value_or("channel");
  stored.is_symmetric = weights.boolean("symmetric").value_or(true);
  if (format == "pack-quantized" && type == "int") {
    stored.kind = Kind::kPacked;
    if (strategy == "group")
      stored.group = group_of(weights, "group_size", 0);
    else if (strategy != "channel")
      refuse(weights, "this strategy", "group or channel", strategy);
    // "weight" and "static" leave the columns where they are.
    const auto* order = weights.find("actorder");
    stored.has_g_idx = order != nullptr && order->is_string() && order->get_string() == "group";
    return;
  }
  if (type == "float" && stored.bits == 8 &&
      (format == "float-quantized" || format == "naive-quantized")) {
    stored.kind = Kind::kFp8;
    if (strategy == "block") {
      const auto block = weights.integers("block_structure", {1, 1 << 16});
      if (block.size() != 2) weights.refuse("block_structure", "rows and columns");
      stored.block_rows = block[0];
      stored.block_columns = block[1];
    } else if (strategy != "channel" && strategy != "tensor") {
      refuse(weights, "this strategy", "tensor, channel or block", strategy);
    }
    return;
  }
  if (type == "int" && stored.bits == 8 &&
      (format == "int-quantized" || format == "naive-quantized")) {
    stored.kind = Kind::kInt8;
    if (!stored.is_symmetric) refuse(weights, "this kind", "symmetric true", "false");
    if (strategy != "channel" && strategy != "tensor")
      refuse(weights, "this strategy", "channel or tensor", strategy);
    return;
  }
  refuse(weights, "this format", "pack-quantized, int-quantized or float-quantized",
         format + " of " + std::to_string(stored.bits) + " bits, " + type);
}

StoredQuantization parse_compressed(const FileFields& fields) {
  StoredQuantization stored;
  const auto* groups = fields.object("config_groups");
  if (groups == nullptr) fields.refuse_missing("config_groups");
  if (groups->size() != 1)
    refuse(fields, "a format for each layer (config_groups)", "one group",
           std::to_string(groups->size()));
  const auto& [name, value] = *groups->begin();
  const std::string where = fields.where() + ", config_groups, " + std::string(name);
  if (!value.is_object()) fields.refuse("config_groups", "objects");
  const FileFields group(value.get_object(), where);
  const auto* weights = group.object("weights");
  if (weights == nullptr) group.refuse_missing("weights");
  if (const auto targets = group.strings("targets");
      targets && *targets != std::vector<std::string>{"Linear"})
    refuse(group, "a choice of layers (targets)", "[\"Linear\"]",
           boost::json::serialize(*group.find("targets")));
  const auto format = group.string("format");
  take_weights(FileFields(*weights, where + ", weights"),
               format ? *format : fields.string("format").value_or(""), stored);
  take_input(group, stored);
  if (const auto* output = group.find("output_activations"); output != nullptr)
    refuse(group, "rounded output", {}, {});
  if (fields.has("kv_cache_scheme")) refuse(fields, "a KV cache", "no kv_cache_scheme", "one");
  if (const auto* sparsity = fields.object("sparsity_config"))
    if (const FileFields sparse(*sparsity, fields.where());
        !sparsity->empty() && sparse.string("format").value_or("dense") != "dense")
      refuse(fields, "sparsity", "dense", sparse.string("format").value_or(""));
  take_names(fields, "ignore", stored);
  return stored;
}

}  // namespace

StoredQuantization StoredQuantization::parse(const boost::json::object& object,
                                             const std::string& where) {
  const FileFields fields(object, where + ", quantization_config");
  const std::string method = fields.string("quant_method").value_or("");
  StoredQuantization stored;
  if (method == "awq")
    stored = parse_awq(fields);
  else if (method == "gptq")
    stored = parse_gptq(fields);
  else if (method == "fp8")
    stored = parse_fp8(fields);
  else if (method == "w8a8_int8")
    stored = parse_w8a8(fields);
  else if (method == "compressed-tensors")
    stored = parse_compressed(fields);
  else
    throw Error({"quantized weights of this kind are not supported", fields.where(),
                 "quant_method awq, gptq, compressed-tensors, fp8 or w8a8_int8",
                 method.empty() ? "none" : method});
  stored.method = method;
  for (const std::string& name : stored.ignore) {
    if (!name.starts_with("re:")) continue;
    try {
      const boost::regex checked(name.substr(3));
    } catch (const boost::regex_error&) {
      throw Error({"not a regular expression", fields.where(), {}, name});
    }
  }
  return stored;
}

// Boost's, because it gives up an expression that would take for ever.
bool StoredQuantization::leaves_out(const std::string& name) const {
  const std::string dotted = "." + name + ".";
  return std::ranges::any_of(ignore, [&](const std::string& listed) {
    if (!listed.starts_with("re:")) return dotted.find("." + listed + ".") != std::string::npos;
    try {
      return boost::regex_search(name, boost::regex(listed.substr(3)), boost::match_continuous);
    } catch (const std::runtime_error& fault) {
      throw Error({"a regular expression cannot be matched", "quantization_config, " + listed,
                   fault.what(), name});
    }
  });
}

}  // namespace foretoken
