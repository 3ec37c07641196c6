#pragma once
// Pieces of a structural tag (text/grammar.h), as JSON. Pure functions.

#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace foretoken::tag_format {

// Names that a schema does not list, as a regular expression.
inline constexpr const char* kFreeName = "[A-Za-z_][A-Za-z0-9_.-]{0,63}";

inline boost::json::value constant(std::string_view text) {
  return boost::json::object{{"type", "const_string"}, {"value", text}};
}

inline boost::json::value pattern(std::string_view regex) {
  return boost::json::object{{"type", "regex"}, {"pattern", regex}};
}

inline boost::json::value value_of(boost::json::object schema) {
  return boost::json::object{{"type", "json_schema"}, {"json_schema", std::move(schema)}};
}

inline boost::json::value in_order(boost::json::array elements) {
  return boost::json::object{{"type", "sequence"}, {"elements", std::move(elements)}};
}

inline boost::json::value any_of(boost::json::array elements) {
  return boost::json::object{{"type", "or"}, {"elements", std::move(elements)}};
}

inline boost::json::value maybe(boost::json::value element) {
  return any_of({constant(""), std::move(element)});
}

inline boost::json::value any_number_of(boost::json::value element) {
  return boost::json::object{{"type", "star"}, {"content", std::move(element)}};
}

inline boost::json::value any_text() { return boost::json::object{{"type", "any_text"}}; }

// `end` may not be empty; free text in the content goes up to it.
inline boost::json::value enclosed(std::string_view begin, boost::json::value content,
                                   std::string_view end) {
  return boost::json::object{
      {"type", "tag"}, {"begin", begin}, {"content", std::move(content)}, {"end", end}};
}

// Any text up to `end`.
inline boost::json::value text_until(std::string_view begin, std::string_view end) {
  return enclosed(begin, any_text(), end);
}

inline boost::json::value white() { return maybe(pattern("[ \\t\\r\\n]{1,8}")); }

}  // namespace foretoken::tag_format
