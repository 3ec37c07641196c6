// {"name": "f", "arguments": {...}}, keys in any order and by the words of the family, or
// {"f": {...}}. The value of the arguments may also be null or a text that holds the object.

#include <optional>

#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "text/dialogue/call_body.h"
#include "text/dialogue/json_scanner.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

// The text of a JSON string, with its quotes; nullopt: no string.
std::optional<std::string> text_of(std::string_view spelled) {
  JsonFault fault;
  const auto value = parse_json(spelled, fault);
  if (!value || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

bool is_object(std::string_view spelled) {
  JsonFault fault;
  const auto value = parse_json(spelled, fault);
  return value && value->is_object();
}

class ObjectBody final : public CallBody {
 public:
  explicit ObjectBody(const ObjectStyle& style) : style_(&style) {}

  void start() override { *this = ObjectBody(*style_); }

  State feed(std::string_view text, std::size_t& used, CallSink& sink) override {
    used = 0;
    while (true) {
      const std::string_view rest = text.substr(used);
      std::size_t taken = 0;
      const Step step = at_ == At::kValue ? read_value(rest, taken, sink) : mark(rest, taken, sink);
      used += taken;
      if (step == Step::kMore) return State::kMore;
      if (step == Step::kBroken) return State::kBroken;
      if (at_ == At::kEnd) return State::kDone;
    }
  }

 private:
  enum class At { kOpen, kFirstKey, kKey, kColon, kValue, kAfter, kEnd };
  enum class Role { kName, kArguments, kOther };
  enum class Step { kNext, kMore, kBroken };

  // One of { " : , } or a key.
  Step mark(std::string_view text, std::size_t& used, CallSink& sink) {
    if (at_ == At::kKey && !key_.empty()) return read_key(text, used);
    used = leading_white(text);
    if (used == text.size()) return Step::kMore;
    const char c = text[used];
    switch (at_) {
      case At::kOpen:
        if (c != '{') return Step::kBroken;
        at_ = At::kFirstKey;
        break;
      case At::kFirstKey:
      case At::kKey:
        if (c != '"') return Step::kBroken;
        key_ = "\"";
        at_ = At::kKey;
        break;
      case At::kColon:
        if (c != ':') return Step::kBroken;
        at_ = At::kValue;
        break;
      case At::kAfter:
        if (c == ',')
          at_ = At::kKey;
        else if (c != '}' || !finish(sink))
          return Step::kBroken;
        else
          at_ = At::kEnd;
        break;
      default:
        return Step::kBroken;
    }
    ++used;
    return Step::kNext;
  }

  // Keys that matter have no escapes; others break the call, so that a JSON answer that is no call
  // is not held back.
  Step read_key(std::string_view text, std::size_t& used) {
    const std::size_t end = text.find('"');
    const std::string_view part = text.substr(0, end);
    if (key_.size() + part.size() > kMaxNameBytes) return Step::kBroken;
    key_ += part;
    used = part.size();
    if (end == std::string_view::npos) return Step::kMore;
    const std::string_view key = std::string_view(key_).substr(1);
    if (style_->name_is_key) {
      if (name_) return Step::kBroken;
      role_ = Role::kArguments;
      name_ = key;
    } else if (!find_role(key)) {
      return Step::kBroken;
    }
    if ((role_ == Role::kName && name_) || (role_ == Role::kArguments && has_arguments_))
      return Step::kBroken;
    ++used;
    key_.clear();
    value_.clear();
    scanner_ = {};
    at_ = At::kColon;
    return Step::kNext;
  }

  bool find_role(std::string_view key) {
    role_ = Role::kOther;
    if (key == style_->name_key || key == "name")
      role_ = Role::kName;
    else if (key == style_->arguments_key || key == "arguments" || key == "parameters")
      role_ = Role::kArguments;
    else if (key != style_->id_key && key != "id" && key != "type" && key != "index")
      return false;
    return true;
  }

  Step read_value(std::string_view text, std::size_t& used, CallSink& sink) {
    if (value_.empty()) {
      used = leading_white(text);
      if (used == text.size()) return Step::kMore;
      text.remove_prefix(used);
      // From here on they can be passed on as they come.
      passes_ = role_ == Role::kArguments && name_ && text.front() == '{';
      if (passes_ && !begin(sink)) return Step::kBroken;
      if (passes_) has_arguments_ = true;
    }
    std::size_t taken = 0;
    const auto state = scanner_.feed(text, taken);
    used += taken;
    const std::string_view part = text.substr(0, taken);
    if (passes_)
      sink.arguments(part);
    else
      value_ += part;
    if (passes_ && value_.empty()) value_ = "{";  // begun
    if (state == JsonScanner::State::kBroken) return Step::kBroken;
    if (state == JsonScanner::State::kMore) return Step::kMore;
    at_ = At::kAfter;
    return passes_ || keep_value() ? Step::kNext : Step::kBroken;
  }

  bool keep_value() {
    if (role_ == Role::kName) {
      name_ = text_of(value_);
      return name_.has_value();
    }
    if (role_ != Role::kArguments) return true;
    has_arguments_ = true;
    arguments_ = value_;
    if (value_ == "null") arguments_ = "{}";
    if (value_.front() == '"') arguments_ = text_of(value_).value_or("");
    return is_object(*arguments_);
  }

  bool begin(CallSink& sink) { return sink.begin(*name_, {}); }

  bool finish(CallSink& sink) {
    if (!name_) return false;
    if (has_arguments_ && !arguments_) return true;  // passed on
    if (!begin(sink)) return false;
    sink.arguments(arguments_.value_or("{}"));
    return true;
  }

  const ObjectStyle* style_;
  At at_ = At::kOpen;
  Role role_ = Role::kOther;
  std::string key_;  // with its opening quote; empty: none begun
  std::string value_;
  JsonScanner scanner_;
  bool passes_ = false;
  bool has_arguments_ = false;
  std::optional<std::string> name_;
  std::optional<std::string> arguments_;  // that came before the name, or in another form
};

}  // namespace

std::unique_ptr<CallBody> make_object_body(const ObjectStyle& style) {
  return std::make_unique<ObjectBody>(style);
}

}  // namespace foretoken
