#include "checkpoint/quantized/compressed_tensors.h"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/letters.h"
#include "checkpoint/quantized/stored_fields.h"

namespace foretoken {
namespace {

using FormatKind = StoredFormat::Kind;

// What is done to the input: nothing, or 8 bits by row. A scale that was fixed for all rows is not
// used: that of each row is nearer, and costs nothing.
void take_input(const FileFields& group, StoredFormat& format) {
  const auto* object = group.object("input_activations");
  if (object == nullptr) return;
  const FileFields input(*object, group.where() + ", input_activations");
  const auto bits = input.integer("num_bits", kStoredBits).value_or(8);
  const std::string type = input.string("type").value_or("int");
  if (bits != 8) refuse_stored(input, "input of this width", "8 bits", std::to_string(bits));
  if (format.kind == FormatKind::kFp8) return;  // inputs are kept, see docs/use/quantization.md
  if (type != "int") refuse_stored(input, "input of this type", "int", type);
  if (!input.boolean("symmetric").value_or(true))
    refuse_stored(input, "input with zero points", "symmetric true", "false");
  const auto strategy = input.string("strategy").value_or("token");
  if (strategy != "token" && strategy != "tensor")
    refuse_stored(input, "input of this strategy", "token or tensor", strategy);
  if (format.kind != FormatKind::kInt8)
    refuse_stored(input, "input of 8 bits beside packed weights", "none", "8 bits");
  format.rounds_input = true;
}

// Whether columns belong to groups in another order than their own, as weight_g_idx says.
bool reorders(const FileFields& weights) {
  const auto* order = weights.find("actorder");
  if (order == nullptr) return false;
  if (order->is_bool()) return order->get_bool();
  const std::string name = weights.string("actorder").value_or("");
  if (name == "group" || name == "dynamic") return true;
  // Their columns stay where they are.
  if (name == "weight" || name == "static") return false;
  refuse_stored(weights, "this order (actorder)", "group, dynamic, weight or static", name);
}

void take_weights(const FileFields& weights, const std::string& name, StoredFormat& format) {
  take_bits(weights, "num_bits", format);
  const std::string type = weights.string("type").value_or("int"),
                    strategy = weights.string("strategy").value_or("channel");
  format.is_symmetric = weights.boolean("symmetric").value_or(true);
  if (name == "pack-quantized" && type == "int") {
    format.kind = FormatKind::kPacked;
    if (strategy == "group")
      format.group = stored_group(weights, "group_size", 0);
    else if (strategy != "channel")
      refuse_stored(weights, "this strategy", "group or channel", strategy);
    format.has_g_idx = reorders(weights);
    return;
  }
  if (type == "float" && format.bits == 8 &&
      (name == "float-quantized" || name == "naive-quantized")) {
    format.kind = FormatKind::kFp8;
    if (strategy == "block") {
      const auto block = weights.integers("block_structure", {1, 1 << 16});
      if (block.size() != 2) weights.refuse("block_structure", "rows and columns");
      format.block_rows = block[0];
      format.block_columns = block[1];
    } else if (strategy != "channel" && strategy != "tensor") {
      refuse_stored(weights, "this strategy", "tensor, channel or block", strategy);
    }
    return;
  }
  if (type == "int" && format.bits == 8 && (name == "int-quantized" || name == "naive-quantized")) {
    format.kind = FormatKind::kInt8;
    if (!format.is_symmetric) refuse_stored(weights, "this kind", "symmetric true", "false");
    if (strategy != "channel" && strategy != "tensor")
      refuse_stored(weights, "this strategy", "channel or tensor", strategy);
    return;
  }
  refuse_stored(weights, "this format", "pack-quantized, int-quantized or float-quantized",
                name + " of " + std::to_string(format.bits) + " bits, " + type);
}

StoredFormat parse_group(const FileFields& group, const std::string& all_format) {
  StoredFormat format;
  const auto* weights = group.object("weights");
  if (weights == nullptr) group.refuse_missing("weights");
  take_weights(FileFields(*weights, group.where() + ", weights"),
               group.string("format").value_or(all_format), format);
  take_input(group, format);
  if (group.has("output_activations")) refuse_stored(group, "rounded output", {}, {});
  return format;
}

// Where groups differ: to which matrices each belongs. "Linear" is all that no name is of.
void take_targets(const FileFields& group, const StoredFormat& format, StoredQuantization& stored) {
  const auto targets = group.strings("targets");
  if (!targets) group.refuse_missing("targets");
  for (const std::string& target : *targets) {
    if (lower_case(target) != "linear") {
      stored.rules.push_back({.names = target, .format = format});
      continue;
    }
    if (stored.usual && !(*stored.usual == format))
      refuse_stored(group, "another format for the same layers (targets)", "names", target);
    stored.usual = format;
  }
}

// Rotations of weights are in the weights; those of what meets them would have to be computed.
void check_transforms(const FileFields& fields) {
  const auto* config = fields.object("transform_config");
  if (config == nullptr || config->empty()) return;
  const FileFields transforms(*config, fields.where() + ", transform_config");
  const auto* groups = transforms.object("config_groups");
  if (groups == nullptr) transforms.refuse_missing("config_groups");
  for (const auto& [name, value] : *groups) {
    if (!value.is_object()) transforms.refuse("config_groups", "objects");
    const FileFields group(value.get_object(), transforms.where() + ", " + std::string(name));
    const auto* uses = group.array("apply");
    if (uses == nullptr) group.refuse_missing("apply");
    for (const boost::json::value& use : *uses) {
      if (!use.is_object()) group.refuse("apply", "a list of objects");
      const FileFields applied(use.get_object(), group.where() + ", apply");
      const std::string location = applied.string("location").value_or("");
      if (location != "weight_input" && location != "weight_output")
        refuse_stored(applied, "a rotation while computing", "weight_input or weight_output",
                      location);
    }
  }
}

void check_sparsity(const FileFields& fields) {
  const auto* sparsity = fields.object("sparsity_config");
  if (sparsity == nullptr || sparsity->empty()) return;
  const std::string format =
      FileFields(*sparsity, fields.where()).string("format").value_or("dense");
  if (format != "dense") refuse_stored(fields, "sparsity", "dense", format);
}

}  // namespace

// Which layers the groups are for (`targets`) matters only where they differ; that keys and values
// were to be quantized (`kv_cache_scheme`) changes nothing: see docs/use/quantization.md.
StoredQuantization parse_compressed_tensors(const FileFields& fields) {
  const auto* groups = fields.object("config_groups");
  if (groups == nullptr) fields.refuse_missing("config_groups");
  if (groups->empty()) fields.refuse("config_groups", "at least one group");
  const std::string name_of_all = fields.string("format").value_or("");
  std::vector<FileFields> each;
  std::vector<StoredFormat> formats;
  for (const auto& [name, value] : *groups) {
    if (!value.is_object()) fields.refuse("config_groups", "objects");
    each.emplace_back(value.get_object(), fields.where() + ", config_groups, " + std::string(name));
    formats.push_back(parse_group(each.back(), name_of_all));
  }
  StoredQuantization stored;
  if (std::ranges::all_of(formats, [&](const auto& one) { return one == formats.front(); }))
    stored.usual = formats.front();
  else
    for (std::size_t i = 0; i < each.size(); ++i) take_targets(each[i], formats[i], stored);
  check_transforms(fields);
  check_sparsity(fields);
  take_names(fields, "ignore", stored);
  return stored;
}

}  // namespace foretoken
