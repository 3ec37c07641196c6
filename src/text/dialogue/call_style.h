#pragma once
// CallStyle: how a family of models writes calls of tools, as a table: marks, and the bodies
// between them. Data, built once; the parser is call_parser.h. To add a family: a row in one of
// the tables of families/, and a case in the tests that go over all of them.

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace foretoken {

// {<name_key>: NAME, <arguments_key>: {...}}, or {NAME: {...}}.
struct ObjectStyle {
  std::string_view name_key = "name";            // "name" is taken, too
  std::string_view arguments_key = "arguments";  // "arguments" and "parameters" are taken, too
  std::string_view id_key = "id";                // what it says is left out
  bool id_first = false;                         // models have learnt to write it before the name
  bool name_is_key = false;                      // {NAME: {...}}
};

// NAME <name_end> {...}
struct NamedStyle {
  std::string_view name_end;  // may be left out before '{' where ends_at_brace
  bool ends_at_brace = false;
  std::string_view prefix = {};   // before the name, left out
  std::string_view id_mark = {};  // behind the name, before an id
  bool name_is_id = false;        // "functions.NAME:0" is the id
};

// What a value is, told beside its key: KEY <key_end> KIND <end> VALUE.
struct KindStyle {
  std::string_view end;
  std::string_view text;        // of a string, which is written as it is
  std::string_view other = {};  // of what is written as JSON; empty: the name of its JSON type,
                                // which for integers is "number"
};

// NAME, then parameters; white space between the marks does not count.
struct TaggedStyle {
  std::string_view name_end;          // empty: the next mark, or white space
  bool name_end_may_miss = false;     // then as if it were empty
  std::string_view name_closed = {};  // in place of name_end: there are no parameters
  // Behind name_end, up to this mark, stands what is left out; empty: nothing does.
  std::string_view rest_end = {};
  std::string_view rest = {};  // a regular expression of it
  std::string_view key_begin, key_end;
  std::optional<KindStyle> kind = {};
  std::string_view value_begin = {};  // empty: the value follows the key
  std::string_view value_end;
  std::string_view call_end;
  bool value_in_lines = false;  // one line break before the value and one behind it are not of it
  bool takes_object = false;    // one JSON object may stand in place of the parameters
  bool escapes_names = false;   // &amp; and &quot; in names and keys
};

// NAME, then an element for each parameter, in which lists and objects are elements, too:
// <open>KEY<tag_end> VALUE <close>KEY<tag_end>. White space between the elements does not count.
struct ElementStyle {
  std::string_view name_end;
  std::string_view open, close, tag_end;  // close begins with open
  std::string_view item;                  // the key of an entry of a list
  std::string_view call_end;
};

// NAME{KEY:VALUE,...}: JSON, but for keys without quotes and strings between marks.
struct LooseStyle {
  std::string_view quote;  // on both sides of a string
};

struct CallStyle {
  std::string_view name;  // of --tool-call-parser
  // Some families spell their marks in several ways, each a style of the same name: a token that
  // only vocabularies with these marks have. Empty: the first of the name.
  std::string_view token = {};
  // Marks that begin a section of calls, or a call.
  std::vector<std::string_view> begins;
  // Marks that stand one behind the other before a call, white space between them.
  std::vector<std::string_view> call_begin = {};
  bool spaced_marks = false;  // models write white space between those of call_begin, too
  std::vector<std::string_view> call_end = {};  // the same behind a call; each may be missing
  std::string_view section_end = {};
  std::string_view between = {};  // bytes that may stand around calls, besides white space
  std::string_view bare = {};     // bytes that begin a section where an answer begins with them
  // Marks around the text of an answer, which are no text.
  std::vector<std::string_view> frame = {};
  std::optional<ObjectStyle> object = {};
  bool takes_python = false;  // then a list may begin anywhere: see python_list.h
  std::optional<NamedStyle> named = {};
  std::optional<TaggedStyle> tagged = {};
  std::optional<ElementStyle> elements = {};
  std::optional<LooseStyle> loose = {};
  bool short_ids = false;  // templates of this family want ids of nine letters and digits
  // The calls are messages of their own on channels: see channel_parser.h.
  bool has_channels = false;
};

// nullptr: no family of that name.
const CallStyle* find_call_style(std::string_view name);

// The style of the same name whose marks the vocabulary has.
const CallStyle* spelled_by(const CallStyle* style,
                            const std::function<bool(std::string_view)>& has_token);
std::vector<std::string_view> call_style_names();

// A JSON list of calls, as an output that is bound to be one reads; of no family.
const CallStyle& listed_calls();

// The style that a chat template teaches or writes; nullptr: it cannot be told.
const CallStyle* call_style_of_template(std::string_view source);

}  // namespace foretoken
