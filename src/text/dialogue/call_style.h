#pragma once
// CallStyle: how a family of models writes calls of tools, as a table: marks, and the bodies
// between them. Data, built once; the parser is call_parser.h. To add a family: a row in
// call_style.cc, and a case in its test.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace foretoken {

// NAME <name_end> {...}
struct NamedStyle {
  std::string_view name_end;  // may be left out before '{' where ends_at_brace
  bool ends_at_brace = false;
  std::string_view prefix = {};   // before the name, left out
  std::string_view id_mark = {};  // behind the name, before an id
  bool name_is_id = false;        // "functions.NAME:0" is the id
};

// NAME, then parameters; white space between the marks does not count.
struct TaggedStyle {
  std::string_view name_end;  // empty: the next mark, or white space
  std::string_view key_begin, key_end;
  std::string_view value_begin = {};  // empty: the value follows the key
  std::string_view value_end;
  std::string_view call_end;
  bool value_in_lines = false;  // one line break before the value and one behind it are not of it
};

struct CallStyle {
  std::string_view name;  // of --tool-call-parser
  // Marks that begin a section of calls, or a call.
  std::vector<std::string_view> begins;
  // Marks that may follow each other before a call, white space between them: all or none.
  std::vector<std::string_view> call_begin = {};
  std::vector<std::string_view> call_end = {};  // the same behind a call; each may be missing
  std::string_view section_end = {};
  std::string_view between = {};  // bytes that may stand around calls, besides white space
  std::string_view bare = {};     // bytes that begin a section where an answer begins with them
  bool takes_object = false;
  bool takes_python = false;  // then a list may begin anywhere: see python_list.h
  std::optional<NamedStyle> named = {};
  std::optional<TaggedStyle> tagged = {};
  bool short_ids = false;  // templates of this family want ids of nine letters and digits
  // The calls are messages of their own on channels: see channel_parser.h.
  bool has_channels = false;
};

// nullptr: no family of that name.
const CallStyle* find_call_style(std::string_view name);
std::vector<std::string_view> call_style_names();

// A JSON list of calls, as an output that is bound to be one reads; of no family.
const CallStyle& listed_calls();

// The style that a chat template teaches or writes; nullptr: it cannot be told.
const CallStyle* call_style_of_template(std::string_view source);

}  // namespace foretoken
