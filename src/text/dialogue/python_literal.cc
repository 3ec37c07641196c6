#include "text/dialogue/python_literal.h"

#include <cstdint>

#include "base/json_text.h"
#include "text/dialogue/json_escape.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xE0 | code >> 12);
    } else {
      byte(0xF0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3F));
    }
    byte(0x80 | (code >> 6 & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

// Reads one literal off the front.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool value(std::string& out, std::size_t depth = 0) {
    skip_white();
    if (rest_.empty() || depth > kDeepestValue) return false;
    switch (rest_.front()) {
      case '[':
        return list(out, ']', depth);
      case '(':
        return list(out, ')', depth);
      case '{':
        return dictionary(out, depth);
      case '\'':
      case '"':
        return strings(out);
      default:
        return word(out);
    }
  }
  bool at_end() {
    skip_white();
    return rest_.empty();
  }

 private:
  void skip_white() { rest_.remove_prefix(leading_white(rest_)); }
  bool take(char c) {
    skip_white();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool list(std::string& out, char end, std::size_t depth) {
    rest_.remove_prefix(1);
    out += '[';
    for (bool first = true; !take(end); first = false) {
      if (!first && !take(',')) return false;
      if (!first && take(end)) break;  // a comma may follow the last one
      if (!first) out += ", ";
      if (!value(out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  bool dictionary(std::string& out, std::size_t depth) {
    rest_.remove_prefix(1);
    out += '{';
    for (bool first = true; !take('}'); first = false) {
      if (!first && !take(',')) return false;
      if (!first && take('}')) break;
      if (!first) out += ", ";
      skip_white();
      if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) return false;
      if (!strings(out) || !take(':')) return false;
      out += ": ";
      if (!value(out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }

  // Strings side by side are one.
  bool strings(std::string& out) {
    std::string text;
    do {
      if (!one_string(text)) return false;
      skip_white();
    } while (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\''));
    append_quoted(out, text);
    return true;
  }

  bool one_string(std::string& text) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != quote) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c != '\\')
        text += c;
      else if (!escape(text))
        return false;
    }
    if (rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool escape(std::string& text) {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    constexpr std::string_view kFrom = "nrtbf0av'\"\\", kTo{"\n\r\t\b\f\0\a\v'\"\\", 11};
    if (const auto at = kFrom.find(c); at != std::string_view::npos) {
      text += kTo[at];
      return true;
    }
    if (c == 'x' || c == 'u' || c == 'U') return code(text, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    if (c == '\n') return true;  // a line that goes on
    text += '\\';
    text += c;
    return true;
  }

  bool code(std::string& text, int digits) {
    const auto hex = [&](int count, std::uint32_t& out) {
      if (rest_.size() < static_cast<std::size_t>(count)) return false;
      out = 0;
      for (int i = 0; i < count; ++i) {
        const char c = rest_[static_cast<std::size_t>(i)];
        const auto at = std::string_view("0123456789abcdef")
                            .find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
        if (at == std::string_view::npos) return false;
        out = out << 4 | static_cast<std::uint32_t>(at);
      }
      rest_.remove_prefix(static_cast<std::size_t>(count));
      return true;
    };
    std::uint32_t value = 0, low = 0;
    if (!hex(digits, value)) return false;
    if (value >= 0xD800 && value < 0xDC00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      if (!hex(4, low) || low < 0xDC00 || low > 0xDFFF) return false;
      value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return false;
    append_utf8(text, value);
    return true;
  }

  bool word(std::string& out) {
    std::size_t n = 0;
    while (n < rest_.size() &&
           std::string_view(",]})(: \n\r\t").find(rest_[n]) == std::string_view::npos)
      ++n;
    std::string_view name = rest_.substr(0, n);
    rest_.remove_prefix(n);
    if (name == "True" || name == "true") return out += "true", true;
    if (name == "False" || name == "false") return out += "false", true;
    if (name == "None" || name == "null") return out += "null", true;
    return number(name, out);
  }

  // JSON's numbers, and those that only Python writes: +1, 1., .5, 1_000.
  static bool number(std::string_view name, std::string& out) {
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const char c = name[i];
      const bool digit_before = !text.empty() && text.back() >= '0' && text.back() <= '9';
      if (c == '+' && i == 0) continue;
      if (c == '_' && digit_before) continue;
      if (c == '.' && !digit_before) text += '0';
      if (!text.empty() && text.back() == '.' && (c < '0' || c > '9')) text += '0';
      text += c;
    }
    if (!text.empty() && text.back() == '.') text += '0';
    JsonFault fault;
    const auto value = parse_json(text, fault);
    if (!value || !value->is_number()) return false;
    out += text;
    return true;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::string> json_of_python(std::string_view text) {
  Reader reader(text);
  std::string out;
  if (!reader.value(out) || !reader.at_end()) return std::nullopt;
  return out;
}

}  // namespace foretoken
