#pragma once
// Where calls in Python begin in a text: a list whose first entry calls one of the tools,
// "[f(x=1), g()]", by itself, behind a mark, or as a block of code. Not the calls themselves: those
// are read by a CallBody. Pure functions.

#include <cstddef>
#include <span>
#include <string_view>

#include "text/dialogue/tool_schemas.h"

namespace foretoken {

struct PythonList {
  std::size_t at = 0;         // text before it is certain to be text
  bool begins = false;        // else nothing begins, or more text must tell
  std::size_t size = 0;       // of what stands before the list itself
  std::string_view end = {};  // what stands behind the list, where it is not that of the family
  bool is_marked = false;
};

// marks: that begin a list without doubt.
PythonList find_python_list(std::string_view text, std::span<const std::string_view> marks,
                            const ToolSchemas& tools);

}  // namespace foretoken
