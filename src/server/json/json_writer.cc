#include "server/json/json_writer.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/error.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

bool is_plain(unsigned char c) { return c >= 0x20 && c != 0x7F && c != '"' && c != '\\'; }

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  if (!is_valid_utf8(text)) return append_json_string(out, lossy_utf8(text));
  out.push_back('"');
  std::size_t plain = 0;  // start of the run that needs no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_plain(static_cast<unsigned char>(text[i]))) continue;
    out.append(text, plain, i - plain);
    append_escaped(out, text[i]);
    plain = i + 1;
  }
  out.append(text, plain, text.size() - plain);
  out.push_back('"');
}

void JsonWriter::separate() {
  if (comma_) out_.push_back(',');
  comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_.push_back('{');
  comma_ = false;
  ++depth_;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_.push_back('}');
  comma_ = true;
  --depth_;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  out_.push_back('[');
  comma_ = false;
  ++depth_;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_.push_back(']');
  comma_ = true;
  --depth_;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_.push_back(':');
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::number(float value) {
  return std::isfinite(value) ? raw(fmt::format("{}", value)) : null();
}

JsonWriter& JsonWriter::number(double value) {
  return std::isfinite(value) ? raw(fmt::format("{}", value)) : null();
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::integer(std::int64_t value) { return raw(fmt::format_int(value).c_str()); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_.append(json);
  return *this;
}

std::string JsonWriter::take() {
  DCHECK(depth_ == 0) << "unbalanced JSON";
  std::string out;
  out.swap(out_);
  comma_ = false;
  return out;
}

}  // namespace foretoken
