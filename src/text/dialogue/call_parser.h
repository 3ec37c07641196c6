#pragma once
// CallParser: takes calls of tools out of what a model writes, as a CallStyle says, and leaves the
// rest text. Not thread-safe: one per answer.
//   - A call begins where its name is known, is one of the tools', and its arguments begin. Until
//     then it is held back; if it does not get there, it becomes text.
//   - A fault behind that: in an answer that is sent whole, the call becomes text, too; in a stream
//     what was sent stays, the call ends there, and the rest is text.
//   - Calls in Python are found anywhere in the text, in a block of code, too, whose marks are
//     dropped with them.
//   - White space beside calls belongs to the format and is dropped.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/dialogue/answer_parser.h"
#include "text/dialogue/call_body.h"
#include "text/dialogue/call_style.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {

struct CallOptions {
  std::shared_ptr<const ToolSchemas> tools;
  bool whole_calls = false;                  // nothing of a call is shown before it is whole
  bool one_call = false;                     // the answer is over when the first call is
  std::function<std::string()> new_id = {};  // where the format has none; empty: no ids
};

// What one call may take, from its first mark to its last, and how many there are of an answer;
// what is beyond is text.
inline constexpr std::size_t kMaxCallBytes = std::size_t{1} << 20;
inline constexpr int kMaxCalls = 128;

class CallParser final : public AnswerParser, private CallSink {
 public:
  // style: without channels; outlives the parser, as all of call_style.h does.
  CallParser(const CallStyle& style, CallOptions options);

  void push(std::string_view text, AnswerParts& out) override;
  void finish(Ending ending, AnswerParts& out) override;
  bool is_over() const override { return is_over_; }
  bool is_in_call() const override { return at_ == At::kBody && begun_; }

 private:
  enum class At { kText, kSection, kCallBegin, kBody, kCallEnd };

  // CallSink
  bool begin(std::string_view name, std::string id) override;
  void arguments(std::string_view json) override;

  bool step();  // false: more text is needed
  bool read_text();
  bool read_python_text();
  bool read_section();
  bool read_call_begin();
  bool read_body();
  bool read_call_end();

  std::string_view rest() const { return std::string_view(input_).substr(read_); }
  void take(std::size_t bytes);  // of the rest, into what a broken call would be
  void say(std::string_view text);
  void begin_section(std::size_t bytes, std::string_view end);
  // A mark of calls that may come without their section.
  bool begins_a_call(std::string_view mark) const {
    return !style_.call_begin.empty() && style_.call_begin.front() == mark;
  }
  bool choose_body();
  void end_call();
  void give_up(std::string_view why);
  void leave_section();

  const CallStyle& style_;
  CallOptions options_;
  std::vector<std::string_view> begins_;
  std::unique_ptr<CallBody> object_, named_, python_;
  std::unique_ptr<CallBody> marked_;  // tagged, of elements or loose: then there is no other
  CallBody* body_ = nullptr;

  std::string input_;  // not yet read from read_ on
  std::size_t read_ = 0;
  AnswerParts* out_ = nullptr;  // during a call of push or finish
  At at_ = At::kText;
  std::size_t mark_ = 0;          // the next of call_begin or call_end
  std::string_view section_end_;  // of this section
  std::string white_;             // at the end of the text, held back
  bool has_text_ = false;
  bool after_call_ = false;  // nothing but white space since
  std::string raw_;          // what the call was read from, or the section before its first call
  std::size_t call_bytes_ = 0;
  bool begun_ = false;
  bool is_marked_ = false;  // by a mark, since the last call
  bool is_over_ = false;
  bool warned_ = false;
  int calls_ = 0;
  std::string name_, id_, held_arguments_;  // of a call that is not shown yet
};

}  // namespace foretoken
