#pragma once
// AnswerPrinter: shows one answer as it comes and sums up what it took. On a terminal with the
// reasoning faint, tokens of accepted drafts coloured and a line of figures at the end; elsewhere
// the text of the answer alone, byte for byte. One thread at a time.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/chat/answer_delta.h"
#include "app/chat/drafted_text.h"
#include "app/chat/terminal_text.h"

namespace foretoken {

class AnswerPrinter {
 public:
  // drafters: in the order in which they appeared, which is kept over answers.
  AnswerPrinter(std::FILE* out, bool is_terminal, TerminalStyle style,
                std::vector<std::string>& drafters);

  void add(const AnswerDelta& delta);
  // Ends the last line. `how`: a word for the line of figures, such as "stopped"; empty: by itself.
  void end(std::string_view how);

  const std::string& text() const { return text_; }
  const std::string& reasoning() const { return reasoning_; }
  // Of a server that gave up in mid-answer; empty: it did not.
  const std::string& error() const { return error_; }

 private:
  void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), out_); }
  void print_pieces(std::string_view text);
  std::size_t number_of(const std::string& drafter);
  std::string figures(std::string_view how) const;

  std::FILE* out_;
  bool is_terminal_;
  TerminalStyle style_;
  std::vector<std::string>& drafters_;
  DraftedText drafted_;
  std::string text_, reasoning_, finish_, error_;
  std::optional<ToldReport> report_;
  std::optional<std::int64_t> tokens_;
  std::chrono::steady_clock::time_point first_{}, last_{};  // of text
};

}  // namespace foretoken
