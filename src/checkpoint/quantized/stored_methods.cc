#include "checkpoint/quantized/stored_methods.h"

#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/letters.h"
#include "checkpoint/quantized/stored_fields.h"

namespace foretoken {
namespace {

using FormatKind = StoredFormat::Kind;

// Tools have called the format by two keys, and some write both.
std::string format_in(const FileFields& fields, std::string_view key, std::string_view other,
                      const std::string& usual) {
  const auto one = fields.string(key), two = fields.string(other);
  if (one && two && lower_case(*one) != lower_case(*two))
    fields.refuse(key, "what " + std::string(other) + " says, " + *two);
  return lower_case(one ? *one : two.value_or(usual));
}

// Widths and groups, which layers may have of their own.
void take_widths(const FileFields& fields, StoredFormat& format) {
  take_bits(fields, "bits", format);
  format.group = stored_group(fields, "group_size", format.group);
}

FileFields fields_of(const boost::json::value& value, const FileFields& around,
                     std::string_view key, std::string_view name) {
  if (!value.is_object()) around.refuse(key, "objects");
  return {value.get_object(), around.where() + ", " + std::string(key) + ", " + std::string(name)};
}

// A name, or an expression that may be met anywhere in it.
std::string auto_round_names(const std::string& key) {
  return key.find_first_of("*+?^$()[]{}|\\") == std::string::npos ? key : "re:.*(?:" + key + ")";
}

}  // namespace

StoredQuantization parse_awq(const FileFields& fields) {
  StoredFormat format{.kind = FormatKind::kAwq};
  take_bits(fields, fields.has("w_bit") ? "w_bit" : "bits", format);
  if (format.bits != 4) refuse_stored(fields, "this width", "4 bits", std::to_string(format.bits));
  const std::string version = format_in(fields, "version", "format", "gemm");
  if (version != "gemm") refuse_stored(fields, "this version", "gemm", version);
  if (const auto writer = fields.string("backend"); writer && lower_case(*writer) == "llm-awq")
    refuse_stored(fields, "this writer (backend)", "autoawq", *writer);
  format.group =
      stored_group(fields, fields.has("q_group_size") ? "q_group_size" : "group_size", 128);
  format.is_symmetric = !fields.boolean("zero_point").value_or(true);
  if (format.is_symmetric) refuse_stored(fields, "this kind", "zero_point true", "false");
  StoredQuantization stored{.usual = format};
  take_names(fields, "modules_to_not_convert", stored);
  return stored;
}

StoredQuantization parse_gptq(const FileFields& fields) {
  // Zero points are always stored.
  StoredFormat format{.kind = FormatKind::kGptq, .group = 128, .is_symmetric = false};
  const auto take_format = [](const FileFields& said, StoredFormat& taken) {
    take_widths(said, taken);
    taken.has_g_idx = said.boolean("desc_act").value_or(taken.has_g_idx);
  };
  take_format(fields, format);
  const std::string name = format_in(fields, "checkpoint_format", "format", "gptq");
  if (name != "gptq" && name != "gptq_v2")
    refuse_stored(fields, "this format", "gptq or gptq_v2", name);
  format.zeros_are_less_one = name == "gptq";
  StoredQuantization stored{.usual = format};
  // "-:" leaves layers out, which their tensors show; "+:" or nothing changes their format.
  if (const auto* dynamic = fields.object("dynamic"))
    for (const auto& [key, changes] : *dynamic) {
      if (key.starts_with("-:")) continue;
      const std::string layers = key.substr(key.starts_with("+:") ? 2 : 0);
      StoredFormat changed = format;
      take_format(fields_of(changes, fields, "dynamic", key), changed);
      stored.rules.push_back({.names = "re:" + layers, .format = changed});
    }
  take_names(fields, "modules_to_not_convert", stored);
  return stored;
}

StoredQuantization parse_auto_round(const FileFields& fields) {
  const auto packing = lower_case(fields.string("packing_format").value_or("auto_round:auto_gptq"));
  const bool is_gptq = packing.ends_with("auto_gptq");
  if (!is_gptq && !packing.ends_with("auto_awq"))
    refuse_stored(fields, "this packing_format", "auto_round:auto_gptq or auto_round:auto_awq",
                  packing);
  const auto check = [&](const FileFields& said, const StoredFormat& format) {
    if (const auto type = said.string("data_type").value_or("int"); type != "int")
      refuse_stored(said, "this data_type", "int", type);
    if (!is_gptq && format.bits != 4)
      refuse_stored(said, "this width", "4 bits", std::to_string(format.bits));
  };
  StoredFormat format{.kind = is_gptq ? FormatKind::kGptq : FormatKind::kAwq,
                      .group = 128,
                      .is_symmetric = false,
                      .zeros_are_less_one = is_gptq};
  take_widths(fields, format);
  check(fields, format);
  StoredQuantization stored{.usual = format};
  constexpr std::int64_t kFloatBits = 16;
  if (const auto* extra = fields.object("extra_config"))
    for (const auto& [key, value] : *extra) {
      const FileFields said = fields_of(value, fields, "extra_config", key);
      if (said.integer("bits").value_or(format.bits) >= kFloatBits) continue;  // left out
      StoredFormat changed = format;
      take_widths(said, changed);
      check(said, changed);
      stored.rules.push_back({.names = auto_round_names(key), .format = changed});
    }
  return stored;
}

StoredQuantization parse_fp8(const FileFields& fields) {
  StoredFormat format{.kind = FormatKind::kFp8, .bits = 8};
  const std::string name = fields.string("fmt").value_or("e4m3");
  if (name != "e4m3") refuse_stored(fields, "this format", "e4m3", name);
  if (const auto block = fields.integers("weight_block_size", {1, 1 << 16}); !block.empty()) {
    if (block.size() != 2) fields.refuse("weight_block_size", "rows and columns");
    format.block_rows = block[0];
    format.block_columns = block[1];
  }
  StoredQuantization stored{.usual = format};
  for (const char* key : {"modules_to_not_convert", "ignored_layers"})
    take_names(fields, key, stored);
  return stored;
}

// Which matrices are left out (`ignore`, `exclude_modules`) their tensors tell.
StoredQuantization parse_modelopt(const FileFields& fields) {
  if (const auto* inner = fields.object("quantization"))  // as older versions write it
    return parse_modelopt(FileFields(*inner, fields.where() + ", quantization"));
  const std::string algorithm = fields.string("quant_algo").value_or("none");
  if (algorithm != "FP8" && algorithm != "FP8_PER_CHANNEL_PER_TOKEN")
    refuse_stored(fields, "this quant_algo", "FP8 or FP8_PER_CHANNEL_PER_TOKEN", algorithm);
  return {.usual = StoredFormat{.kind = FormatKind::kFp8, .bits = 8}};
}

StoredQuantization parse_w8a8(const FileFields& fields) {
  StoredQuantization stored{
      .usual = StoredFormat{.kind = FormatKind::kInt8, .bits = 8, .rounds_input = true}};
  take_names(fields, "ignore", stored);
  return stored;
}

}  // namespace foretoken
