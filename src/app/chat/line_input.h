#pragma once
// LineInput: where a chat's lines come from: an editor on the terminal, or a stream that is read line
// by line. A text of several lines is one input, and is UTF-8. One thread at a time.

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace foretoken {

class LineInput {
 public:
  enum class Kind { kText, kInterrupted, kUnreadable, kEnd };  // kUnreadable: no UTF-8
  struct Input {
    Kind kind = Kind::kText;
    std::string text = {};
  };

  virtual ~LineInput() = default;
  virtual Input read() = 0;
};

// With history and completion. history: file, made with its folder where there is none; empty: none.
// completed: lines that Tab completes (completed_lines()). Throws Error.
std::unique_ptr<LineInput> edited_input(const std::string& history, std::string_view completed,
                                        bool is_coloured);

// A backslash at the end of a line joins it with the next one.
std::unique_ptr<LineInput> plain_input(std::FILE* from);

}  // namespace foretoken
