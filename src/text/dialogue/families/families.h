#pragma once
// The tables of call styles (call_style.h), by the form in which a family writes the arguments.
// Each function adds its families; a family is one entry. No parser, no choice between them.

#include <vector>

#include "text/dialogue/call_style.h"

namespace foretoken::families {

void add_objects(std::vector<CallStyle>& all);  // the name and the arguments in one JSON object
void add_named(std::vector<CallStyle>& all);    // a name, a mark, and the arguments as JSON
void add_tagged(std::vector<CallStyle>& all);   // each parameter between marks
void add_others(std::vector<CallStyle>& all);   // Python, elements, loose JSON, channels

}  // namespace foretoken::families
