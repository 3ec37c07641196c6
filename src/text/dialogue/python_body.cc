// name(key=value, ...), each value a literal of Python.

#include <cctype>

#include "text/dialogue/call_body.h"
#include "text/dialogue/json_escape.h"
#include "text/dialogue/marks.h"
#include "text/dialogue/python_literal.h"

namespace foretoken {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

class PythonBody final : public CallBody {
 public:
  void start() override { *this = PythonBody(); }

  State feed(std::string_view text, std::size_t& used, CallSink& sink) override {
    used = 0;
    for (; used < text.size(); ++used) {
      const State state = take(text[used], sink);
      if (state == State::kBroken) return state;
      if (state == State::kDone) {
        ++used;
        return state;
      }
    }
    return State::kMore;
  }

 private:
  enum class At { kName, kKey, kEquals, kValue };

  State take(char c, CallSink& sink) {
    switch (at_) {
      case At::kName:
        if (c == '(') {
          at_ = At::kKey;
          return sink.begin(std::exchange(name_, {}), {}) ? State::kMore : State::kBroken;
        }
        return add(c);
      case At::kKey:
        if (name_.empty() && is_white(c)) return State::kMore;
        if (c == ')' && name_.empty()) return end(sink);
        if (c == '=' || is_white(c)) {
          at_ = c == '=' ? At::kValue : At::kEquals;
          return name_.empty() ? State::kBroken : State::kMore;
        }
        return add(c);
      case At::kEquals:
        if (c == '=') at_ = At::kValue;
        return c == '=' || is_white(c) ? State::kMore : State::kBroken;
      case At::kValue:
        return take_value(c, sink);
    }
    return State::kBroken;
  }

  State add(char c) {
    if (!is_name(c) || name_.size() == kMaxNameBytes) return State::kBroken;
    name_ += c;
    return State::kMore;
  }

  State take_value(char c, CallSink& sink) {
    if (quote_ == 0 && depth_ == 0 && (c == ',' || c == ')')) {
      const auto value = json_of_python(value_);
      if (!value) return State::kBroken;
      std::string json = count_++ == 0 ? "{" : ", ";
      append_quoted(json, name_);
      sink.arguments(json + ": " + *value);
      name_.clear();
      value_.clear();
      at_ = At::kKey;
      return c == ')' ? end(sink) : State::kMore;
    }
    value_ += c;
    if (quote_ != 0) {
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == quote_)
        quote_ = 0;
    } else if (c == '\'' || c == '"') {
      quote_ = c;
    } else if (c == '[' || c == '(' || c == '{') {
      ++depth_;
    } else if ((c == ']' || c == ')' || c == '}') && depth_-- == 0) {
      return State::kBroken;
    }
    return State::kMore;
  }

  State end(CallSink& sink) {
    sink.arguments(count_ == 0 ? "{}" : "}");
    return State::kDone;
  }

  At at_ = At::kName;
  std::string name_, value_;
  int count_ = 0, depth_ = 0;
  char quote_ = 0;
  bool escaped_ = false;
};

}  // namespace

std::unique_ptr<CallBody> make_python_body() { return std::make_unique<PythonBody>(); }

}  // namespace foretoken
