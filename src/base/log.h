#pragma once
// The program's log: one line per call to standard error, "[2026-01-31 12:00:00] text" as SGLang
// prints it, warnings with "WARNING: ". A thin front over spdlog so that few files include it.
// Thread-safe. Whatever the text holds, a call is one line: line breaks and control characters in
// it are shown escaped (\n, \x1b), so that a client's words cannot pass for the program's.
// A line that cannot be written (a full disk, a closed or stuck pipe) is lost, and nothing else is.

#include <string_view>

#include <fmt/format.h>

namespace foretoken {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kInfo))
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kWarning))
    log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kDebug))
    log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kError))
    log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace foretoken
