// NAME{key:value,...}: JSON, but for keys without quotes, and strings between marks of their own,
// which are passed on as they come. Other values are held back until their end.

#include <algorithm>

#include "text/dialogue/call_body.h"
#include "text/dialogue/json_escape.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

class LooseBody final : public SteppedBody {
 public:
  LooseBody(const LooseStyle& style, const ToolSchemas& schemas)
      : style_(style), schemas_(schemas) {}

  void start() override {
    at_ = At::kName;
    levels_.clear();
  }

 private:
  enum class At { kName, kNext, kKey, kValue, kText, kBare };
  struct Level {
    SchemaPlace place;
    bool is_list = false;
    int count = 0;  // values in it so far
  };

  bool is_over() const override { return levels_.empty(); }
  State step(std::string_view text, std::size_t& used, CallSink& sink) override {
    switch (at_) {
      case At::kName:
        return read_name(text, used, sink);
      case At::kNext:
        return next(text, used, sink);
      case At::kKey:
        return read_key(text, used, sink);
      case At::kValue:
        return start_value(text, used, sink);
      case At::kText:
        return read_text(text, used, sink);
      case At::kBare:
        return read_bare(text, used, sink);
    }
    return State::kBroken;
  }

  State read_name(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = find_name_end(text, "{");
    if (end == std::string_view::npos) return without_name_end(text, "{");
    const std::string_view name = trimmed(text.substr(0, end));
    if (name.empty() || !sink.begin(name, {})) return State::kBroken;
    used = end + 1;
    return open({.place = schemas_.place(name)}, sink);
  }

  State open(Level level, CallSink& sink) {
    if (levels_.size() == kDeepestValue) return State::kBroken;
    sink.arguments(level.is_list ? "[" : "{");
    levels_.push_back(level);
    at_ = At::kNext;
    return State::kDone;
  }

  // A value or a key begins, or what is around them ends.
  State next(std::string_view text, std::size_t& used, CallSink& sink) {
    while (used < text.size() && (is_white(text[used]) || text[used] == ',')) ++used;
    if (used == text.size()) return State::kMore;
    Level& level = levels_.back();
    if (text[used] == (level.is_list ? ']' : '}')) {
      ++used;
      sink.arguments(level.is_list ? "]" : "}");
      levels_.pop_back();
      return State::kDone;
    }
    if (level.count++ > 0) sink.arguments(", ");
    if (level.is_list) place_ = level.place.item();
    at_ = level.is_list ? At::kValue : At::kKey;
    return State::kDone;
  }

  State read_key(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = find_name_end(text, ":");
    if (end == std::string_view::npos) return without_name_end(text, ":");
    std::string_view key = trimmed(text.substr(0, end));
    if (key.size() >= 2 * style_.quote.size() && key.starts_with(style_.quote) &&
        key.ends_with(style_.quote))
      key = key.substr(style_.quote.size(), key.size() - 2 * style_.quote.size());
    place_ = levels_.back().place.member(key);
    std::string json;
    append_quoted(json, key);
    sink.arguments(json + ": ");
    used = end + 1;
    at_ = At::kValue;
    return State::kDone;
  }

  State start_value(std::string_view text, std::size_t& used, CallSink& sink) {
    used = leading_white(text);
    text.remove_prefix(used);
    const Begins quoted = begins_with(text, style_.quote);
    if (quoted == Begins::kMaybe) return State::kMore;
    if (quoted == Begins::kYes) {
      used += style_.quote.size();
      sink.arguments("\"");
      at_ = At::kText;
      return State::kDone;
    }
    if (text.front() == '{' || text.front() == '[') {
      ++used;
      return open({.place = place_, .is_list = text.front() == '['}, sink);
    }
    value_.clear();
    at_ = At::kBare;
    return State::kDone;
  }

  State read_text(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = text.find(style_.quote);
    const bool whole = end != std::string_view::npos;
    std::string_view part = text.substr(0, end);
    if (!whole) part.remove_suffix(unfinished_mark(part, style_.quote));
    used = part.size() + (whole ? style_.quote.size() : 0);
    std::string json;
    append_escaped(json, part);
    if (whole) json += '"';
    sink.arguments(json);
    if (!whole) return State::kMore;
    at_ = At::kNext;
    return State::kDone;
  }

  State read_bare(std::string_view text, std::size_t& used, CallSink& sink) {
    const std::size_t end = text.find_first_of(",}]");
    const std::string_view part = text.substr(0, end);
    value_ += part;
    used = part.size();
    if (end == std::string_view::npos) return State::kMore;
    const std::string_view value = trimmed(value_);
    if (value.empty()) return State::kBroken;
    sink.arguments(json_of_value(value, place_.types()));
    at_ = At::kNext;
    return State::kDone;
  }

  const LooseStyle& style_;
  const ToolSchemas& schemas_;
  At at_ = At::kName;
  std::vector<Level> levels_;
  SchemaPlace place_;  // of the value
  std::string value_;
};

}  // namespace

std::unique_ptr<CallBody> make_loose_body(const LooseStyle& style, const ToolSchemas& schemas) {
  return std::make_unique<LooseBody>(style, schemas);
}

}  // namespace foretoken
