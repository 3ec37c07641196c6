#include "model/stored_quantization.h"

#include <algorithm>
#include <stdexcept>

#include <boost/json.hpp>
#include <boost/regex.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/letters.h"
#include "model/compressed_tensors.h"
#include "model/stored_fields.h"

namespace foretoken {
namespace {

using Kind = StoredQuantization::Kind;
// Tools have called the format by two keys, and some write both.
std::string format_in(const FileFields& fields, std::string_view key, std::string_view other,
                      const std::string& usual) {
  const auto one = fields.string(key), two = fields.string(other);
  if (one && two && lower_case(*one) != lower_case(*two))
    fields.refuse(key, "what " + std::string(other) + " says, " + *two);
  return lower_case(one ? *one : two.value_or(usual));
}

StoredQuantization parse_awq(const FileFields& fields) {
  StoredQuantization stored{.kind = Kind::kAwq};
  take_bits(fields, fields.has("w_bit") ? "w_bit" : "bits", stored);
  if (stored.bits != 4) refuse_stored(fields, "this width", "4 bits", std::to_string(stored.bits));
  const std::string version = format_in(fields, "version", "format", "gemm");
  if (version != "gemm") refuse_stored(fields, "this version", "gemm", version);
  if (const auto writer = fields.string("backend"); writer && lower_case(*writer) == "llm-awq")
    refuse_stored(fields, "this writer (backend)", "autoawq", *writer);
  stored.group =
      stored_group(fields, fields.has("q_group_size") ? "q_group_size" : "group_size", 128);
  stored.is_symmetric = !fields.boolean("zero_point").value_or(true);
  if (stored.is_symmetric) refuse_stored(fields, "this kind", "zero_point true", "false");
  take_names(fields, "modules_to_not_convert", stored);
  return stored;
}

StoredQuantization parse_gptq(const FileFields& fields) {
  StoredQuantization stored{.kind = Kind::kGptq};
  take_bits(fields, "bits", stored);
  stored.group = stored_group(fields, "group_size", 128);
  stored.is_symmetric = false;  // zero points are always stored
  stored.has_g_idx = fields.boolean("desc_act").value_or(false);
  const std::string format = format_in(fields, "checkpoint_format", "format", "gptq");
  if (format != "gptq" && format != "gptq_v2")
    refuse_stored(fields, "this format", "gptq or gptq_v2", format);
  stored.zeros_are_less_one = format == "gptq";
  // "-:" leaves layers out, which their tensors show; any other key changes their format.
  if (const auto* dynamic = fields.object("dynamic"))
    for (const auto& [layers, changes] : *dynamic)
      if (!layers.starts_with("-:"))
        refuse_stored(fields, "a format for some layers (dynamic)", "-: and an expression",
                      std::string(layers));
  take_names(fields, "modules_to_not_convert", stored);
  return stored;
}

StoredQuantization parse_fp8(const FileFields& fields) {
  StoredQuantization stored{.kind = Kind::kFp8, .bits = 8};
  const std::string format = fields.string("fmt").value_or("e4m3");
  if (format != "e4m3") refuse_stored(fields, "this format", "e4m3", format);
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
    stored = parse_compressed_tensors(fields);
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
