#include "model/config/rope_config.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file_fields.h"

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

// Of a model with two ropes: the settings of the layers that see all, and the theta of those that
// slide, which are never scaled. The settings as they are where they are not by type of layer.
const boost::json::object* full_settings(const FileFields& fields,
                                         const boost::json::object* settings, ModelConfig& config) {
  if (settings == nullptr || config.local_rope_theta == 0) return settings;
  const FileFields by_type(*settings, fields.where() + ", rope_parameters");
  if (const auto* const sliding = by_type.object("sliding_attention")) {
    const FileFields local(*sliding, by_type.where() + ", sliding_attention");
    if (parse_kind(local) != Kind::kNone)
      by_type.refuse("sliding_attention", "positions that are not scaled");
    const double theta = local.number("rope_theta").value_or(config.local_rope_theta);
    if (!(theta > 1.0)) local.refuse("rope_theta", "a number above 1");
    config.local_rope_theta = theta;
    if (!by_type.has("full_attention")) return nullptr;
  }
  const auto* const full = by_type.object("full_attention");
  return full != nullptr ? full : settings;
}

}  // namespace

// Of both keys rope_scaling has priority, as in transformers: a file that says all in
// rope_parameters is given another scaling by it.
void parse_rope(const FileFields& fields, ModelConfig& config) {
  static const boost::json::object kNothing;
  const boost::json::object* const scaled = fields.object("rope_scaling");
  const boost::json::object* const usual =
      full_settings(fields, fields.object("rope_parameters"), config);
  const bool is_scaled = usual == nullptr || (scaled != nullptr && !scaled->empty());
  const char* key = is_scaled ? "rope_scaling" : "rope_parameters";
  const boost::json::object* object = is_scaled ? scaled : usual;
  const FileFields rope(object != nullptr ? *object : kNothing,
                        fields.where() + ", " + std::string(key));
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

  auto theta = rope.number("rope_theta");
  if (!theta && usual != nullptr) theta = FileFields(*usual, fields.where()).number("rope_theta");
  config.rope_theta = theta ? *theta : fields.number("rope_theta").value_or(config.rope_theta);
  if (!(config.rope_theta > 1.0)) (theta ? rope : fields).refuse("rope_theta", "a number above 1");

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
