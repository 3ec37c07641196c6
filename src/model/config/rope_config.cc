#include "model/config/rope_config.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <boost/json/serialize.hpp>

#include "base/file_fields.h"
#include "model/config/rope_settings.h"

namespace foretoken {
namespace {

using Kind = RopeScaling::Kind;

const char* kind_key(const FileFields& rope) {
  return rope.has("rope_type") ? "rope_type" : "type";
}

// Sections of images change nothing in text.
bool has_sections(const FileFields& rope) {
  return rope.has("mrope_section") || rope.string(kind_key(rope)) == "mrope";
}

Kind parse_kind(const FileFields& rope) {
  const std::string key = kind_key(rope);
  const std::string type = rope.string(key).value_or("default");
  if (type == "default" || type == "mrope") return Kind::kNone;
  if (type == "linear") return Kind::kLinear;
  if (type == "dynamic") return Kind::kDynamic;
  if (type == "yarn") return Kind::kYarn;
  if (type == "longrope" || type == "su") return Kind::kLongRope;
  if (type == "llama3") return Kind::kLlama3;
  if (type == "proportional") return Kind::kProportional;
  rope.refuse(key, "default, linear, dynamic, llama3, yarn, longrope or proportional");
}

double positive(const FileFields& rope, std::string_view key, double value) {
  if (!(value > 0.0)) rope.refuse(key, "a positive number");
  return value;
}

void parse_factor(const FileFields& rope, RopeScaling& scaling) {
  scaling.factor = rope.number("factor");
  const bool is_derivable = scaling.kind == Kind::kYarn || scaling.kind == Kind::kLongRope;
  if (!scaling.factor && !is_derivable) rope.refuse_missing("factor");
  if (scaling.factor && !(*scaling.factor >= 1.0 && *scaling.factor <= 1e6))
    rope.refuse("factor", "a number from 1 to 1e6");
}

// Positions are not scaled where there is no factor.
void parse_proportional(const FileFields& rope, ModelConfig& config) {
  const double share = rope.number("partial_rotary_factor").value_or(1.0);
  if (!(share > 0.0 && share <= 1.0)) rope.refuse("partial_rotary_factor", "a share of a head");
  config.rope.share = share;
  config.rope.factor = positive(rope, "factor", rope.number("factor").value_or(1.0));
}

// By the same factor whatever the length of a text.
void stretch_theta(const FileFields& rope, double alpha, ModelConfig& config) {
  const double rotated = config.rotated();
  positive(rope, "alpha", alpha);
  config.rope_theta *= std::pow(alpha, rotated / std::max(rotated - 2.0, 1.0));
  config.rope.kind = Kind::kNone;
}

void parse_llama3(const FileFields& rope, RopeScaling& scaling) {
  scaling.low_freq_factor =
      positive(rope, "low_freq_factor", rope.required_number("low_freq_factor"));
  scaling.high_freq_factor =
      positive(rope, "high_freq_factor", rope.required_number("high_freq_factor"));
  if (scaling.high_freq_factor < scaling.low_freq_factor)
    rope.refuse("high_freq_factor", "a number of at least low_freq_factor");
}

void parse_yarn(const FileFields& rope, RopeScaling& scaling) {
  scaling.beta_fast = positive(rope, "beta_fast", rope.number("beta_fast").value_or(32.0));
  scaling.beta_slow = positive(rope, "beta_slow", rope.number("beta_slow").value_or(1.0));
  scaling.mscale = rope.number("mscale");
  scaling.truncate = rope.boolean("truncate").value_or(true);
}

std::vector<double> parse_factors(const FileFields& rope, std::string_view key, int rotary_dim) {
  auto factors = rope.numbers(key);
  if (!factors) rope.refuse_missing(key);
  if (factors->size() != static_cast<std::size_t>(rotary_dim / 2))
    rope.refuse(key, std::to_string(rotary_dim / 2) + " numbers (half of head_dim)");
  for (const double factor : *factors) positive(rope, key, factor);
  return *std::move(factors);
}

// Of a model with two ropes: the theta of the layers that slide, which are never scaled.
void parse_sliding(const FileFields& by_type, ModelConfig& config) {
  const auto* const sliding = by_type.object("sliding_attention");
  if (sliding == nullptr) return;
  const FileFields local(*sliding, by_type.where() + ", sliding_attention");
  if (parse_kind(local) != Kind::kNone)
    by_type.refuse("sliding_attention", "positions that are not scaled");
  const double theta = local.number("rope_theta").value_or(config.local_rope_theta);
  if (!(theta > 1.0)) local.refuse("rope_theta", "a number above 1");
  config.local_rope_theta = theta;
}

// The settings of the layers of such a model that see all: those of rope_scaling beside and in
// place of those by type of layer.
boost::json::object full_settings(const FileFields& fields, ModelConfig& config) {
  boost::json::object full;
  const auto* const settings = fields.object("rope_parameters");
  if (settings != nullptr && !settings->empty()) {
    const FileFields by_type(*settings, fields.where() + ", rope_parameters");
    if (!settings->contains("full_attention") && !settings->contains("sliding_attention"))
      fields.refuse("rope_parameters", "settings of full_attention and sliding_attention");
    parse_sliding(by_type, config);
    if (const auto* const stated = by_type.object("full_attention")) full = *stated;
  }
  if (const auto* const scaling = fields.object("rope_scaling"))
    for (const auto& [key, value] : *scaling) full[key] = value;
  return full;
}

// A file that says all in rope_parameters, and to which a scaling was added: transformers takes
// nothing of the former then, which leaves theta as no one meant it.
void check_theta(const FileFields& fields, const FileFields& rope, double theta) {
  const auto* const usual = fields.object("rope_parameters");
  if (usual == nullptr || rope_key(fields) != "rope_scaling" || rope.has("rope_theta")) return;
  const double stated =
      FileFields(*usual, fields.where() + ", rope_parameters").number("rope_theta").value_or(theta);
  if (stated != theta)
    rope.refuse("rope_theta", "one beside the scaling (that of rope_parameters, " +
                                  boost::json::serialize(usual->at("rope_theta")) +
                                  ", is replaced with all of it)");
}

}  // namespace

void parse_rope(const FileFields& fields, ModelConfig& config) {
  const bool is_by_type = config.local_rope_theta > 0;
  const std::string key(rope_key(fields));
  const boost::json::object full =
      is_by_type ? full_settings(fields, config) : boost::json::object();
  const FileFields rope =
      is_by_type ? FileFields(full, fields.where() + ", " + key) : rope_settings(fields);
  for (const char* layer_type : {"full_attention", "sliding_attention"})
    if (rope.find(layer_type) != nullptr)
      fields.refuse(key, "one set of rotary settings for all layers");
  if (!config.has_rope_sections && has_sections(rope))
    rope.refuse("mrope_section", "no multimodal rotary sections");
  if (config.score_growth == 0 && rope.number("llama_4_scaling_beta").value_or(0.0) != 0.0)
    rope.refuse("llama_4_scaling_beta", "0 (scores do not grow with the position)");
  if (config.rotary_dim == 0 && parse_kind(rope) != Kind::kProportional &&
      rope.number("partial_rotary_factor").value_or(1.0) != 1.0)
    rope.refuse("partial_rotary_factor", "1 (the whole head is rotated)");

  const auto theta = rope.number("rope_theta");
  config.rope_theta = theta ? *theta : fields.number("rope_theta").value_or(config.rope_theta);
  if (!(config.rope_theta > 1.0)) (theta ? rope : fields).refuse("rope_theta", "a number above 1");
  if (!is_by_type) check_theta(fields, rope, config.rope_theta);

  RopeScaling& scaling = config.rope;
  scaling.kind = parse_kind(rope);
  if (scaling.kind == Kind::kNone) return;
  if (scaling.kind == Kind::kProportional) return parse_proportional(rope, config);
  const double alpha = config.has_rope_alpha ? rope.number("alpha").value_or(0.0) : 0.0;
  if (scaling.kind == Kind::kDynamic && alpha != 0.0) return stretch_theta(rope, alpha, config);
  parse_factor(rope, scaling);
  // Some configs keep the original length beside the rotary settings; there it has priority.
  const IntRange positions{1};
  scaling.original_max_position = fields.integer("original_max_position_embeddings", positions);
  if (!scaling.original_max_position)
    scaling.original_max_position = rope.integer("original_max_position_embeddings", positions);
  if (const auto attention = rope.number("attention_factor"))
    scaling.attention_factor = positive(rope, "attention_factor", *attention);
  scaling.mscale_all_dim = rope.number("mscale_all_dim");
  if (scaling.kind == Kind::kLlama3) parse_llama3(rope, scaling);
  if (scaling.kind == Kind::kYarn) parse_yarn(rope, scaling);
  if (scaling.kind == Kind::kLongRope) {
    scaling.short_factor = parse_factors(rope, "short_factor", config.rotated());
    scaling.long_factor = parse_factors(rope, "long_factor", config.rotated());
  }
}

}  // namespace foretoken
