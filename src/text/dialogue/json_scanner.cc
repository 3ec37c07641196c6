#include "text/dialogue/json_scanner.h"

#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

JsonScanner::State JsonScanner::feed(std::string_view text, std::size_t& used) {
  used = 0;
  while (used < text.size()) {
    const char c = text[used];
    if (at_ == At::kNumber && !take_number(c)) {
      if (!number_may_end()) return State::kBroken;
      end_value();  // the byte belongs to what follows
      if (done_) return State::kDone;
      continue;
    }
    if (at_ != At::kNumber && !take(c)) return State::kBroken;
    ++used;
    if (done_) return State::kDone;
  }
  return State::kMore;
}

void JsonScanner::end_value() {
  if (stack_.empty()) done_ = true;
  at_ = At::kAfter;
}

bool JsonScanner::begin_value(char c) {
  if (c == '{' || c == '[') {
    if (stack_.size() == kDeepestValue) return false;
    stack_.push_back(c);
    at_ = c == '{' ? At::kFirstKey : At::kFirstValue;
    return true;
  }
  if (c == '"') {
    is_key_ = false;
    at_ = At::kString;
    return true;
  }
  if (c == '-' || is_digit(c)) {
    number_ = c == '-' ? Digit::kSign : c == '0' ? Digit::kZero : Digit::kInt;
    at_ = At::kNumber;
    return true;
  }
  literal_ = c == 't' ? "rue" : c == 'f' ? "alse" : c == 'n' ? "ull" : "";
  at_ = At::kLiteral;
  return !literal_.empty();
}

bool JsonScanner::close(char c) {
  if (stack_.empty() || stack_.back() != (c == '}' ? '{' : '[')) return false;
  stack_.pop_back();
  end_value();
  return true;
}

bool JsonScanner::take_number(char c) {
  switch (number_) {
    case Digit::kSign:
      if (!is_digit(c)) return false;
      number_ = c == '0' ? Digit::kZero : Digit::kInt;
      return true;
    case Digit::kZero:
    case Digit::kInt:
      if (number_ == Digit::kInt && is_digit(c)) return true;
      if (c != '.' && c != 'e' && c != 'E') return false;
      number_ = c == '.' ? Digit::kDot : Digit::kE;
      return true;
    case Digit::kDot:
    case Digit::kFraction:
      if (is_digit(c)) {
        number_ = Digit::kFraction;
        return true;
      }
      if (number_ == Digit::kDot || (c != 'e' && c != 'E')) return false;
      number_ = Digit::kE;
      return true;
    case Digit::kE:
      if (c == '+' || c == '-') {
        number_ = Digit::kESign;
        return true;
      }
      [[fallthrough]];
    case Digit::kESign:
    case Digit::kExponent:
      if (!is_digit(c)) return false;
      number_ = Digit::kExponent;
      return true;
  }
  return false;
}

bool JsonScanner::take(char c) {
  switch (at_) {
    case At::kString:
      if (c == '\\') {
        at_ = At::kEscape;
      } else if (c == '"') {
        if (is_key_)
          at_ = At::kColon;
        else
          end_value();
      }
      return static_cast<unsigned char>(c) >= 0x20;
    case At::kEscape:
      hex_left_ = c == 'u' ? 4 : 0;
      at_ = c == 'u' ? At::kUnicode : At::kString;
      return std::string_view("\"\\/bfnrtu").find(c) != std::string_view::npos;
    case At::kUnicode:
      if (--hex_left_ == 0) at_ = At::kString;
      return is_hex(c);
    case At::kLiteral:
      if (c != literal_.front()) return false;
      literal_.remove_prefix(1);
      if (literal_.empty()) end_value();
      return true;
    default:
      break;
  }
  if (is_white(c)) return true;
  switch (at_) {
    case At::kFirstValue:
      return c == ']' ? close(c) : begin_value(c);
    case At::kFirstKey:
      if (c == '}') return close(c);
      [[fallthrough]];
    case At::kKey:
      is_key_ = true;
      at_ = At::kString;
      return c == '"';
    case At::kColon:
      at_ = At::kValue;
      return c == ':';
    case At::kAfter:
      if (c == '}' || c == ']') return close(c);
      at_ = stack_.back() == '{' ? At::kKey : At::kValue;
      return c == ',';
    default:
      return begin_value(c);
  }
}

}  // namespace foretoken
