#pragma once
// AnswerParts: an answer in the parts that clients know: text, reasoning, calls of tools, in the
// order in which the model wrote them. What parsers (answer_parser.h) write and routes word. Parts
// only grow, at the end of the list; what was said is never taken back. Not thread-safe: one per
// answer.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct AnswerPart {
  enum class Kind { kText, kReasoning, kCall };
  Kind kind = Kind::kText;
  std::string text;       // of a call: its arguments, as JSON
  std::string name = {};  // of a call
  std::string id = {};    // of a call, where the model's format has one
};

class AnswerParts {
 public:
  void text(std::string_view text) { append(AnswerPart::Kind::kText, text); }
  void reasoning(std::string_view text) { append(AnswerPart::Kind::kReasoning, text); }
  void begin_call(std::string name, std::string id);
  void arguments(std::string_view json);  // of the call that began last
  void end_call() { call_is_open_ = false; }

  const std::vector<AnswerPart>& list() const { return parts_; }
  int calls() const { return calls_; }
  bool call_is_open() const { return call_is_open_; }

  // Which bytes of what the model wrote are reasoning, the marks around it included.
  void open_reasoning(std::size_t from);
  void close_reasoning(std::size_t to);
  bool is_reasoning(std::size_t byte) const;

 private:
  struct Span {
    std::size_t from = 0, to = 0;
  };

  void append(AnswerPart::Kind kind, std::string_view text);

  std::vector<AnswerPart> parts_;
  int calls_ = 0;
  bool call_is_open_ = false;
  std::vector<Span> reasoning_;  // ascending, apart from each other
};

}  // namespace foretoken
