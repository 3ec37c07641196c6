#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/json_text.h"
#include "checkpoint/model_files.h"
#include "model/config/family_table.h"
#include "model/heads/query_head.h"

namespace foretoken {
namespace {

constexpr const char* kTargetWidth = "backbone_hidden_size";

// The last layer of the target that keeps keys and values of the same kind.
int read_layer(const ModelConfig& target, bool has_window) {
  for (int layer = target.kv_layers(); layer-- > 0;)
    if ((target.window(layer) > 0) == has_window) return layer;
  return -1;
}

void check_fit(const FileFields& fields, const QueryHeadConfig& head, const ModelConfig& target) {
  const auto refuse = [&](const std::string& expected, const std::string& found) {
    throw Error({.what = "the draft head was made for another model",
                 .where = fields.where(),
                 .expected = expected,
                 .found = found});
  };
  if (target.latent.is_on() || !target.recurrent.layers.empty())
    refuse("a target whose layers keep keys and values", target.architecture);
  if (head.target_hidden != target.hidden)
    refuse(fmt::format("{} {}", kTargetWidth, target.hidden), std::to_string(head.target_hidden));
  if (head.layer.vocab != target.vocab)
    refuse(fmt::format("vocab_size {}", target.vocab), std::to_string(head.layer.vocab));
  for (int layer = 0; layer < head.layer.layers; ++layer) {
    const KvHeads own = head.layer.heads_of(layer);
    const int source = head.layer.kv_of(layer) - head.layer.layers;
    const KvHeads found = target.heads_of(source);
    if (!(own == found))
      refuse(fmt::format("{} KV heads of {} in layer {}", found.count, found.dim, layer),
             fmt::format("{} of {}", own.count, own.dim));
  }
}

}  // namespace

bool is_query_head(const std::string& folder) {
  try {
    const auto config = read_json_file(*open_model_files(folder), "config.json");
    return config && config->contains(kTargetWidth);
  } catch (const Error&) {
    return false;
  }
}

QueryHeadConfig read_query_head(const std::string& folder, const ModelConfig& target) {
  const auto files = open_model_files(folder);
  const std::string path = files->where("config.json");
  const auto json = read_json_file(*files, "config.json");
  if (!json) throw Error({"the draft model's folder has no config.json", folder, {}, {}});
  const FileFields fields(*json, path);
  const auto* const text = fields.object("text_config");
  if (text == nullptr) fields.refuse_missing("text_config");
  const FileFields inner(*text, path + ", text_config");
  const std::string type = inner.string("model_type").value_or("");
  const Family* const family = text_family_of_type(type);
  if (family == nullptr) inner.refuse("model_type", "a text model that is served");
  QueryHeadConfig head;
  head.target_hidden = static_cast<int>(fields.required_integer(kTargetWidth, {1, 1 << 20}));
  boost::json::object layers = *text;
  for (const char* key : {"quantization_config", "compression_config", "dtype", "torch_dtype"})
    if (const auto* const value = fields.find(key)) layers[key] = *value;
  // All layers share, which makes no sense in a model by itself.
  layers["num_kv_shared_layers"] = 0;
  layers["architectures"] = boost::json::array{family->architecture};
  head.layer = ModelConfig::parse(boost::json::serialize(layers), inner.where());
  if (head.layer.inputs.is_on() || head.layer.experts.routing.experts > 0)
    throw Error({.what = "the draft head has inputs by layer or experts, which is not supported",
                 .where = inner.where()});
  head.layer.context_length = target.context_length;
  for (int layer = 0; layer < head.layer.layers; ++layer) {
    const int source = read_layer(target, head.layer.window(layer) > 0);
    if (source < 0)
      throw Error({.what = "the draft head was made for another model",
                   .where = path,
                   .expected = "a target with layers of the kinds that the head has",
                   .found = target.architecture});
    head.layer.layer_kv.push_back(head.layer.layers + source);
  }
  // A window reaches as far back as it is wide, and the row itself does not count.
  for (int& window : head.layer.layer_window)
    if (window > 0) ++window;
  check_fit(fields, head, target);
  return head;
}

}  // namespace foretoken
