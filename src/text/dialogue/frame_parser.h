#pragma once
// FrameParser: drops the marks that some families write around the text of an answer, and leaves
// the rest, and all of a call of a tool, to another parser. Not thread-safe: one per answer.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/dialogue/answer_parser.h"
#include "text/dialogue/marks.h"

namespace foretoken {

class FrameParser final : public AnswerParser {
 public:
  FrameParser(std::vector<std::string_view> marks, std::unique_ptr<AnswerParser> rest)
      : marks_(std::move(marks)), rest_(std::move(rest)) {}

  void push(std::string_view text, AnswerParts& out) override {
    held_ += text;
    std::string_view left = held_;
    for (;;) {
      const FoundMark found = find_mark(left, marks_);
      if (found.at == std::string_view::npos) break;
      rest_->push(left.substr(0, found.at), out);
      left.remove_prefix(found.at);
      const std::size_t size = marks_[found.which].size();
      if (rest_->is_in_call()) rest_->push(left.substr(0, size), out);
      left.remove_prefix(size);
    }
    const std::size_t certain = left.size() - unfinished_mark(left, marks_);
    rest_->push(left.substr(0, certain), out);
    held_ = std::string(left.substr(certain));
  }

  void finish(Ending ending, AnswerParts& out) override {
    // What a limit cut off is rather half a mark than text.
    if (ending != Ending::kCut) rest_->push(held_, out);
    rest_->finish(ending, out);
  }

  bool is_over() const override { return rest_->is_over(); }
  bool is_in_call() const override { return rest_->is_in_call(); }

 private:
  std::vector<std::string_view> marks_;
  std::unique_ptr<AnswerParser> rest_;
  std::string held_;  // may be half a mark
};

}  // namespace foretoken
