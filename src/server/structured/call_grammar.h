#pragma once
// What a call of a tool must be, in the format of the model's family: a grammar from behind the
// mark, if it has one, to the end of the call, in which the name is one of the tools' and the
// arguments are of that tool's schema. Not the looking for calls: see call_constraint.h. Pure
// functions.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "text/dialogue/call_style.h"

namespace foretoken {

// Where in an answer calls of a family are bound.
struct CallMarks {
  std::vector<std::string_view> calls = {};  // behind one of them; empty: nowhere
  // It is one only in sections that begin with one of these, or anywhere where there are none.
  std::vector<std::string_view> opens = {};
  std::string_view closes = {};
  bool is_open = true;  // where the answer begins
};
CallMarks call_marks(const CallStyle& style);

struct BoundTool {
  std::string name;
  boost::json::object schema;  // of the arguments
  bool is_strict = false;      // what cannot be bound is refused
};

// Calls without a mark, which an answer may begin with.
struct BareCalls {
  std::string_view begins;  // with one of these bytes; empty: there are none
  // What fits the grammar and has come to hold one of these texts is a call and no other answer.
  std::vector<std::string> signs;
};
BareCalls bare_calls(const CallStyle& style, std::span<const BoundTool> tools);

// As a structural tag. Refused: tools that define a name differently, where the family writes
// several calls as one list; strict tools that the family's format cannot be held to.
Result<std::string> call_grammar(const CallStyle& style, std::span<const BoundTool> tools);

}  // namespace foretoken
