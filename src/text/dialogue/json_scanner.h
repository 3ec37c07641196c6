#pragma once
// JsonScanner: finds the end of one JSON value in text that comes in pieces, and the first byte
// that is not of JSON. Builds no value. Objects and arrays nest 64 deep at most, as for all JSON
// here. Not thread-safe.

#include <cstddef>
#include <string_view>
#include <vector>

namespace foretoken {

class JsonScanner {
 public:
  enum class State { kMore, kDone, kBroken };

  // used: bytes of `text` that belong to the value, white space before it included. kDone and
  // kBroken come once; then feed no more.
  State feed(std::string_view text, std::size_t& used);

  // Whether the value is whole if no more text comes (a number has no end of its own).
  bool may_end() const { return stack_.empty() && at_ == At::kNumber && number_may_end(); }

 private:
  enum class At {
    kValue,       // a value begins
    kFirstValue,  // the same, or the array ends
    kFirstKey,    // a key begins, or the object ends
    kKey,
    kColon,
    kAfter,  // a value ended inside of an object or array
    kString,
    kEscape,
    kUnicode,
    kNumber,
    kLiteral,
  };
  enum class Digit { kSign, kZero, kInt, kDot, kFraction, kE, kESign, kExponent };

  bool take(char c);  // false: no JSON
  bool begin_value(char c);
  bool close(char c);
  bool take_number(char c);
  bool number_may_end() const {
    return number_ == Digit::kZero || number_ == Digit::kInt || number_ == Digit::kFraction ||
           number_ == Digit::kExponent;
  }
  void end_value();
  bool is_done() const { return done_; }

  At at_ = At::kValue;
  std::vector<char> stack_;  // '{' or '['
  bool is_key_ = false;      // the string is one
  int hex_left_ = 0;
  std::string_view literal_;  // what is left of true, false, null
  Digit number_ = Digit::kSign;
  bool done_ = false;
};

}  // namespace foretoken
