#include "base/log.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/line_writer.h"

namespace foretoken {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

// The library's own sinks wait for a reader that is stuck.
class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer_.write({line.data(), line.size()});
  }
  void flush_() override {}

 private:
  LineWriter writer_{STDERR_FILENO};
};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("foretoken", std::make_shared<StandardError>());
    made->set_pattern("[%Y-%m-%d %H:%M:%S] %v");
    made->set_level(spdlog::level::info);
    return made;
  }();
  return *instance;
}

// The control character at text[at], as bytes of UTF-8: 1 (C0, DEL), 2 (C1), 3 (line and paragraph
// separator), or 0 for what is none.
std::size_t control_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at);
  if (first < 0x20 || first == 0x7f) return 1;
  if (first == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0) return 2;
  if (first == 0xe2 && byte(at + 1) == 0x80 && (byte(at + 2) == 0xa8 || byte(at + 2) == 0xa9))
    return 3;
  return 0;
}

std::string on_one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = control_length(text, at);
    if (length == 0) {
      out += text[at++];
      continue;
    }
    const char letter = text[at] == '\n'   ? 'n'
                        : text[at] == '\r' ? 'r'
                        : text[at] == '\t' ? 't'
                                           : '\0';
    if (letter != '\0') {
      out += '\\';
      out += letter;
    } else {
      for (std::size_t i = 0; i < length; ++i)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at + i]));
    }
    at += length;
  }
  return out;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }

bool log_enabled(LogLevel level) { return logger().should_log(to_spdlog(level)); }

void log_line(LogLevel level, std::string_view text) {
  const char* mark = level == LogLevel::kWarning ? "WARNING: "
                     : level == LogLevel::kError ? "ERROR: "
                                                 : "";
  logger().log(to_spdlog(level), "{}{}", mark, on_one_line(text));
}

}  // namespace foretoken
