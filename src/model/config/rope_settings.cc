#include "model/config/rope_settings.h"

#include <string>

namespace foretoken {

std::string_view rope_key(const FileFields& fields) {
  const auto* const scaling = fields.object("rope_scaling");
  const bool is_said = scaling != nullptr && !scaling->empty();
  return is_said || fields.object("rope_parameters") == nullptr ? "rope_scaling"
                                                                : "rope_parameters";
}

FileFields rope_settings(const FileFields& fields) {
  static const boost::json::object kNothing;
  const std::string_view key = rope_key(fields);
  const auto* const settings = fields.object(key);
  return {settings != nullptr ? *settings : kNothing, fields.where() + ", " + std::string(key)};
}

double rope_number(const FileFields& fields, std::string_view key, double absent) {
  const auto within = rope_settings(fields).number(key);
  return within ? *within : fields.number(key).value_or(absent);
}

boost::json::value overridden_scaling(const boost::json::object& file,
                                      const boost::json::value& scaling) {
  const auto* const usual = file.if_contains("rope_parameters");
  if (usual == nullptr || !usual->is_object() || !scaling.is_object()) return scaling;
  boost::json::object merged = scaling.get_object();
  if (merged.empty()) return scaling;
  for (const char* key : {"rope_theta", "partial_rotary_factor", "llama_4_scaling_beta"})
    if (const auto* const kept = usual->get_object().if_contains(key);
        kept != nullptr && !merged.contains(key))
      merged[key] = *kept;
  return merged;
}

}  // namespace foretoken
