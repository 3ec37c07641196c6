#pragma once
// Which rotary settings of config.json count, for all that read them. Throws Error naming the key.
// Pure functions.

#include <string_view>

#include "base/file_fields.h"

namespace foretoken {

// "rope_scaling" where it says anything: it stands for all of "rope_parameters", as it does in
// transformers.
std::string_view rope_key(const FileFields& fields);

// The settings under that key; empty where there are none.
FileFields rope_settings(const FileFields& fields);

// A number of the settings; where they leave it out, that beside them; `absent` where neither says
// it.
double rope_number(const FileFields& fields, std::string_view key, double absent);

// The settings with which an override replaces those of a file. What is no scaling stays as the
// file has it, where the override leaves it out.
boost::json::value overridden_scaling(const boost::json::object& file,
                                      const boost::json::value& scaling);

}  // namespace foretoken
