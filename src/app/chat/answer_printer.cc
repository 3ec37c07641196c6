#include "app/chat/answer_printer.h"

#include <algorithm>

#include <fmt/format.h>

namespace foretoken {

AnswerPrinter::AnswerPrinter(std::FILE* out, bool is_terminal, TerminalStyle style,
                             std::vector<std::string>& drafters)
    : out_(out), is_terminal_(is_terminal), style_(style), drafters_(drafters) {}

void AnswerPrinter::add(const AnswerDelta& delta) {
  drafted_.add(delta.tokens);
  if (!delta.reasoning.empty() || !delta.content.empty()) {
    last_ = std::chrono::steady_clock::now();
    if (text_.empty() && reasoning_.empty()) first_ = last_;
  }
  if (is_terminal_ && !delta.reasoning.empty()) {
    drafted_.split(delta.reasoning);  // so that what follows is found behind it
    print(style_.faint(harmless(delta.reasoning)));
  }
  if (!delta.content.empty()) {
    if (is_terminal_ && text_.empty() && !reasoning_.empty()) print("\n\n");
    print_pieces(delta.content);
  }
  std::fflush(out_);
  text_ += delta.content;
  reasoning_ += delta.reasoning;
  if (!delta.finish.empty()) finish_ = delta.finish;
  if (!delta.error.empty()) error_ = delta.error;
  if (delta.report) report_ = delta.report;
  if (delta.completion_tokens) tokens_ = delta.completion_tokens;
}

void AnswerPrinter::print_pieces(std::string_view text) {
  if (!is_terminal_) return print(text);
  for (const auto& [piece, drafter] : drafted_.split(text))
    print(drafter.empty() ? harmless(piece) : style_.drafted(number_of(drafter), harmless(piece)));
}

std::size_t AnswerPrinter::number_of(const std::string& drafter) {
  const auto found = std::ranges::find(drafters_, drafter);
  if (found != drafters_.end()) return static_cast<std::size_t>(found - drafters_.begin());
  drafters_.push_back(drafter);
  return drafters_.size() - 1;
}

void AnswerPrinter::end(std::string_view how) {
  const bool has_text = !text_.empty() || (is_terminal_ && !reasoning_.empty());
  if (has_text && !text_.ends_with('\n')) print("\n");
  if (is_terminal_) {
    if (how.empty() && finish_ == "length") how = "cut at the limit of tokens";
    const std::string line = figures(how);
    if (!line.empty()) print(line + "\n");
  }
  std::fflush(out_);
}

std::string AnswerPrinter::figures(std::string_view how) const {
  std::vector<std::string> parts;
  const double seconds = std::chrono::duration<double>(last_ - first_).count();
  if (tokens_) parts.push_back(style_.faint(fmt::format("{} tokens", *tokens_)));
  if (tokens_ && *tokens_ > 1 && seconds > 0)
    parts.push_back(
        style_.faint(fmt::format("{:.1f} tokens/s", static_cast<double>(*tokens_ - 1) / seconds)));
  if (report_ && report_->verify_steps > 0)
    parts.push_back(style_.faint(fmt::format(
        "accept length {:.2f}", static_cast<double>(report_->verify_steps + report_->accepted) /
                                    static_cast<double>(report_->verify_steps))));
  if (report_)
    for (const auto& [drafter, proposed, accepted] : report_->drafters) {
      if (proposed == 0) continue;
      const auto found = std::ranges::find(drafters_, drafter);
      const std::string line = fmt::format("{} {} of {}", drafter, accepted, proposed);
      parts.push_back(
          found == drafters_.end()
              ? style_.faint(line)
              : style_.drafted(static_cast<std::size_t>(found - drafters_.begin()), line));
    }
  if (!how.empty()) parts.push_back(style_.faint(how));
  return fmt::format("{}", fmt::join(parts, style_.faint(" · ")));
}

}  // namespace foretoken
