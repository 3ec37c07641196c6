// NAME, and each parameter as an element: <k>value</k>, in which lists and objects are elements,
// too. A value is held back until its end or its first element shows what it is; strings, which the
// schema tells, are passed on as they come.

#include <algorithm>

#include "text/dialogue/call_body.h"
#include "text/dialogue/json_escape.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

class ElementBody final : public SteppedBody {
 public:
  ElementBody(const ElementStyle& style, const ToolSchemas& schemas)
      : style_(style), schemas_(schemas) {}

  void start() override {
    at_ = At::kName;
    levels_.clear();
  }

 private:
  enum class At { kName, kBetween, kKey, kText, kValue };
  enum class Kind { kUnknown, kObject, kList };
  struct Level {  // an element that has begun; the first is the call
    std::string close;
    SchemaPlace place;
    Kind kind = Kind::kUnknown;
    int count = 0;  // elements in it so far
  };

  bool is_over() const override { return levels_.empty(); }
  State step(std::string_view text, std::size_t& used, CallSink& sink) override {
    switch (at_) {
      case At::kName:
        return read_name(text, used, sink);
      case At::kBetween:
        return between(text, used, sink);
      case At::kKey:
        return read_key(text, used, sink);
      case At::kText:
        return read_text(text, used, sink);
      case At::kValue:
        return read_value(text, used, sink);
    }
    return State::kBroken;
  }

  State read_name(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = find_name_end(text, style_.name_end);
    if (end == std::string_view::npos) return without_name_end(text, style_.name_end);
    const std::string_view name = trimmed(text.substr(0, end));
    if (name.empty() || !sink.begin(name, {})) return State::kBroken;
    sink.arguments("{");
    levels_.push_back({.close = std::string(style_.call_end),
                       .place = schemas_.place(name),
                       .kind = Kind::kObject});
    used = end + style_.name_end.size();
    at_ = At::kBetween;
    return State::kDone;
  }

  // An element begins, or the one around them ends.
  State between(std::string_view text, std::size_t& used, CallSink& sink) {
    used = leading_white(text);
    text.remove_prefix(used);
    const Begins closes = begins_with(text, style_.close);
    if (closes == Begins::kMaybe) return State::kMore;
    if (closes == Begins::kYes) return close(text, used, sink);
    if (begins_with(text, style_.open) != Begins::kYes) return State::kBroken;
    used += style_.open.size();
    at_ = At::kKey;
    return State::kDone;
  }

  State close(std::string_view text, std::size_t& used, CallSink& sink) {
    const Begins closes = begins_with(text, levels_.back().close);
    if (closes == Begins::kNo) return State::kBroken;
    if (closes == Begins::kMaybe) return State::kMore;
    used += levels_.back().close.size();
    sink.arguments(levels_.back().kind == Kind::kList ? "]" : "}");
    levels_.pop_back();
    return State::kDone;
  }

  State read_key(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = find_name_end(text, style_.tag_end);
    if (end == std::string_view::npos) return without_name_end(text, style_.tag_end);
    const std::string key(text.substr(0, end));
    if (key.empty() || levels_.size() == kDeepestValue) return State::kBroken;
    Level& around = levels_.back();
    std::string json;
    if (around.kind == Kind::kUnknown) {
      around.kind = holds_entries(around, key) ? Kind::kList : Kind::kObject;
      json = around.kind == Kind::kList ? "[" : "{";
    }
    if (around.count++ > 0) json += ", ";
    const bool is_entry = around.kind == Kind::kList;
    if (!is_entry) {
      append_quoted(json, key);
      json += ": ";
    }
    const SchemaPlace place = is_entry ? around.place.item() : around.place.member(key);
    types_ = place.types();
    levels_.push_back(
        {.close = std::string(style_.close) + key + std::string(style_.tag_end), .place = place});
    at_ = types_.is_string_only() ? At::kText : At::kValue;
    if (at_ == At::kText) json += '"';
    sink.arguments(json);
    value_.clear();
    used = end + style_.tag_end.size();
    return State::kDone;
  }

  bool holds_entries(const Level& level, std::string_view key) const {
    const ParameterTypes types = level.place.types();
    if (types.array != types.object) return types.array;
    return key == style_.item;
  }

  State read_text(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::string& mark = levels_.back().close;
    const std::size_t end = text.find(mark);
    const bool whole = end != std::string_view::npos;
    std::string_view part = text.substr(0, end);
    if (!whole) part.remove_suffix(unfinished_mark(part, mark));
    used = part.size() + (whole ? mark.size() : 0);
    std::string json;
    append_escaped(json, part);
    if (whole) json += '"';
    sink.arguments(json);
    return whole ? end_value() : State::kMore;
  }

  State read_value(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = text.find(style_.open);
    std::string_view part = text.substr(0, end);
    if (end == std::string_view::npos) part.remove_suffix(unfinished_mark(part, style_.open));
    value_ += part;
    used = part.size();
    if (end == std::string_view::npos) return State::kMore;
    text.remove_prefix(end);
    const Begins closes = begins_with(text, style_.close);
    if (closes == Begins::kMaybe) return State::kMore;
    if (closes == Begins::kNo) {
      at_ = At::kBetween;
      return trimmed(value_).empty() ? State::kDone : State::kBroken;
    }
    const std::string& mark = levels_.back().close;
    const Begins ends = begins_with(text, mark);
    if (ends == Begins::kNo) return State::kBroken;
    if (ends == Begins::kMaybe) return State::kMore;
    used += mark.size();
    sink.arguments(json_of_leaf());
    return end_value();
  }

  std::string json_of_leaf() const {
    if (trimmed(value_).empty() && types_.is_known() && !types_.string) {
      if (types_.array) return "[]";
      if (types_.object) return "{}";
    }
    return json_of_value(value_, types_);
  }

  State end_value() {
    levels_.pop_back();
    at_ = At::kBetween;
    return State::kDone;
  }

  const ElementStyle& style_;
  const ToolSchemas& schemas_;
  At at_ = At::kName;
  std::vector<Level> levels_;
  std::string value_;
  ParameterTypes types_;  // of the innermost
};

}  // namespace

std::unique_ptr<CallBody> make_element_body(const ElementStyle& style, const ToolSchemas& schemas) {
  return std::make_unique<ElementBody>(style, schemas);
}

}  // namespace foretoken
