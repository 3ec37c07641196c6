#pragma once
// The fields that bodies may have: which are accepted, which are refused, and why. Tables only;
// they are applied in known_fields.h.

#include <span>
#include <string_view>
#include <unordered_map>

#include <boost/json/value.hpp>

#include "server/json/known_fields.h"

namespace foretoken {

// Values by which a refused field asks for nothing, besides null.
enum class Idle { kNull, kEmpty, kZero, kOne, kTrue, kMedium };

struct FieldRule {
  std::string_view reason;  // why it is refused; empty: it is accepted
  Idle idle = Idle::kEmpty;
};

using FieldRules = std::unordered_map<std::string_view, FieldRule>;  // by name

const FieldRules& field_rules(BodyKind kind);

// Whether a refused field has a value that changes nothing.
bool asks_for_nothing(const boost::json::value& value, Idle idle);

}  // namespace foretoken
