// NAME, and each parameter between marks. Values of strings, which the schema or a mark tells, are
// passed on as they come; others are held back until their end, where it shows what they are.

#include <array>

#include "text/dialogue/call_body.h"
#include "text/dialogue/json_escape.h"
#include "text/dialogue/json_scanner.h"
#include "text/dialogue/mark_escape.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

class TaggedBody final : public SteppedBody {
 public:
  TaggedBody(const TaggedStyle& style, const ToolSchemas& schemas)
      : style_(style), schemas_(schemas) {}

  void start() override {
    at_ = At::kName;
    count_ = 0;
    has_object_ = false;
  }

 private:
  enum class At {
    kName,
    kRest,  // of the name's mark
    kBetween,
    kObject,
    kKey,
    kKind,
    kValueBegin,
    kValueStart,
    kValue,
    kEnd
  };

  bool is_over() const override { return at_ == At::kEnd; }
  State step(std::string_view text, std::size_t& used, CallSink& sink) override {
    switch (at_) {
      case At::kName:
        return read_name(text, used, sink);
      case At::kRest:
        return up_to(text, used, style_.rest_end, At::kBetween);
      case At::kBetween:
        return between(text, used, sink);
      case At::kObject:
        return read_object(text, used, sink);
      case At::kKey:
        return read_key(text, used, sink);
      case At::kKind:
        return read_kind(text, used);
      case At::kValueBegin:
        return expect(text, used, style_.value_begin, At::kValueStart);
      case At::kValueStart:
        return start_value(text, used, sink);
      default:
        return read_value(text, used, sink);
    }
  }

  State expect(std::string_view text, std::size_t& used, std::string_view mark, At next) {
    const std::size_t white = leading_white(text);
    const Begins begins = begins_with(text.substr(white), mark);
    used = white;  // however much there is, it is looked at once
    if (begins == Begins::kNo) return State::kBroken;
    if (begins == Begins::kMaybe) return State::kMore;
    used += mark.size();
    at_ = next;
    return State::kDone;
  }

  // Past the next `mark`.
  State up_to(std::string_view text, std::size_t& used, std::string_view mark, At next) {
    const std::size_t end = find_name_end(text, mark);
    if (end == std::string_view::npos) return without_name_end(text, mark);
    used = end + mark.size();
    at_ = next;
    return State::kDone;
  }

  // The end of a name; which: 0 its mark, 1 that of a call without parameters, else what follows.
  // Marks that end a name.
  std::span<const std::string_view> name_ends() const {
    const bool has_mark = !style_.name_end.empty() && !style_.name_end_may_miss;
    return std::span(name_ends_).first(has_mark ? 2 : name_ends_.size());
  }

  std::string spelled(std::string_view name) const {
    return style_.escapes_names ? unescaped_marks(name) : std::string(name);
  }

  State read_name(std::string_view text, std::size_t& used, CallSink& sink) {
    used = leading_white(text);
    text.remove_prefix(used);
    const std::string_view seen = text.substr(0, 2 * kMaxNameBytes);
    const FoundMark end = find_mark(seen, name_ends());
    const std::size_t certain = seen.size() - unfinished_mark(seen, name_ends());
    if (std::min(end.at, certain) > kMaxNameBytes) return State::kBroken;
    if (end.at == std::string_view::npos) return State::kMore;
    name_ = spelled(trimmed(text.substr(0, end.at)));
    if (name_.empty() || !sink.begin(name_, {})) return State::kBroken;
    used += end.at;
    if (end.which == 0) used += style_.name_end.size();
    at_ = style_.rest_end.empty() ? At::kBetween : At::kRest;
    if (end.which == 1) {
      used += style_.name_closed.size();
      sink.arguments("{}");
      at_ = At::kEnd;
    }
    return State::kDone;
  }

  State between(std::string_view text, std::size_t& used, CallSink& sink) {
    if (style_.takes_object && count_ == 0 && !has_object_) {
      used = leading_white(text);
      if (used == text.size()) return State::kMore;
      if (text[used] == '{') {
        has_object_ = true;
        scanner_ = {};
        at_ = At::kObject;
        return State::kDone;
      }
    }
    const State key = has_object_ ? State::kBroken : expect(text, used, style_.key_begin, At::kKey);
    if (key == State::kDone) return key;
    const State end = expect(text, used, style_.call_end, At::kEnd);
    if (end == State::kBroken) return key;
    if (end == State::kDone && !has_object_) sink.arguments(count_ == 0 ? "{}" : "}");
    return end;
  }

  State read_object(std::string_view text, std::size_t& used, CallSink& sink) {
    const auto state = scanner_.feed(text, used);
    sink.arguments(text.substr(0, used));
    if (state == JsonScanner::State::kDone) at_ = At::kBetween;
    if (state == JsonScanner::State::kMore) return State::kMore;
    return state == JsonScanner::State::kDone ? State::kDone : State::kBroken;
  }

  State read_key(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = find_name_end(text, style_.key_end);
    if (end == std::string_view::npos) return without_name_end(text, style_.key_end);
    const std::string key = spelled(trimmed(text.substr(0, end)));
    types_ = schemas_.types(name_, key);
    std::string json = count_++ == 0 ? "{" : ", ";
    append_quoted(json, key);
    sink.arguments(json + ": ");
    used = end + style_.key_end.size();
    at_ = style_.value_begin.empty() ? At::kValueStart : At::kValueBegin;
    if (style_.kind) at_ = At::kKind;
    return State::kDone;
  }

  // What the mark says counts, not the schema.
  State read_kind(std::string_view text, std::size_t& used) {
    const At next = style_.value_begin.empty() ? At::kValueStart : At::kValueBegin;
    const State state = up_to(text, used, style_.kind->end, next);
    if (state != State::kDone) return state;
    const std::string_view kind = text.substr(0, used - style_.kind->end.size());
    types_ = {.string = kind == style_.kind->text};
    return state;
  }

  State start_value(std::string_view text, std::size_t& used, CallSink& sink) {
    if (style_.value_in_lines) {
      if (text.empty()) return State::kMore;
      used = text.front() == '\n' ? 1 : 0;
    }
    value_.clear();
    if (types_.is_string_only()) sink.arguments("\"");
    at_ = At::kValue;
    return State::kDone;
  }

  State read_value(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = text.find(style_.value_end);
    const bool whole = end != std::string_view::npos;
    std::string_view part = text.substr(0, end);
    if (whole) {
      used = end + style_.value_end.size();
      if (style_.value_in_lines && part.ends_with('\n')) part.remove_suffix(1);
    } else {
      part.remove_suffix(unfinished_mark(part, style_.value_end));
      if (style_.value_in_lines && part.ends_with('\n')) part.remove_suffix(1);
      used = part.size();
    }
    if (types_.is_string_only()) {
      std::string json;
      append_escaped(json, part);
      if (whole) json += '"';
      sink.arguments(json);
    } else {
      value_ += part;
      if (whole) sink.arguments(json_of_value(value_, types_));
    }
    if (whole) at_ = At::kBetween;
    return whole ? State::kDone : State::kMore;
  }

  const TaggedStyle& style_;
  const std::array<std::string_view, 6> name_ends_{
      style_.name_end, style_.name_closed, style_.key_begin, style_.call_end, "\n", " "};
  const ToolSchemas& schemas_;
  At at_ = At::kName;
  int count_ = 0;  // parameters so far
  bool has_object_ = false;
  JsonScanner scanner_;
  std::string name_, value_;
  ParameterTypes types_;
};

}  // namespace

std::unique_ptr<CallBody> make_tagged_body(const TaggedStyle& style, const ToolSchemas& schemas) {
  return std::make_unique<TaggedBody>(style, schemas);
}

}  // namespace foretoken
