#pragma once
// ThinkParser: takes the reasoning off the front of what a model writes, by the marks around it,
// and leaves the rest to another parser; of some families also what comes later. Line breaks beside
// the marks belong to the format. Not thread-safe: one per answer.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/dialogue/answer_parser.h"
#include "text/dialogue/reasoning_style.h"

namespace foretoken {

class ThinkParser final : public AnswerParser {
 public:
  // begins_inside: the prompt has opened the reasoning, or may have.
  ThinkParser(const ReasoningStyle& style, bool begins_inside, std::unique_ptr<AnswerParser> rest);

  void push(std::string_view text, AnswerParts& out) override;
  void finish(Ending ending, AnswerParts& out) override;
  bool is_over() const override { return rest_->is_over(); }

 private:
  enum class At { kStart, kInside, kBehind, kRest };

  bool step(AnswerParts& out);
  bool read_start(AnswerParts& out);
  bool read_inside(AnswerParts& out);
  bool read_rest(AnswerParts& out);
  // Where in the rest reasoning begins again; empty: nowhere.
  std::string_view next_mark() const {
    if (!style_.repeats) return {};
    return is_interrupted_ ? style_.resumes : style_.open;
  }
  void say(std::string_view text, AnswerParts& out);
  void take(std::size_t bytes);
  std::string_view held() const { return std::string_view(input_).substr(read_); }

  const ReasoningStyle& style_;
  std::vector<std::string_view> ends_;  // the mark of the end, then the interrupts
  std::unique_ptr<AnswerParser> rest_;
  bool begins_inside_;
  At at_ = At::kStart;
  std::string input_;  // not read yet from read_ on
  std::size_t read_ = 0;
  std::size_t seen_ = 0;  // bytes before held()
  std::string breaks_;    // at the end of the reasoning so far
  bool has_said_ = false;
  bool is_interrupted_ = false;
};

}  // namespace foretoken
